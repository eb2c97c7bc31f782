# CPack runs it on the files of each package, before it packs them.
if(CPACK_GENERATOR STREQUAL DEB)
  set(modules ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib/python3/dist-packages)
  file(MAKE_DIRECTORY ${modules})
  file(CREATE_LINK ../../../share/robustrun/python/robustrun ${modules}/robustrun SYMBOLIC)
endif()
