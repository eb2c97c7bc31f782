# CPack runs it on the files of each package, before it packs them.
if(CPACK_GENERATOR STREQUAL DEB)
  set(modules ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib/python3/dist-packages)
  file(MAKE_DIRECTORY ${modules})
  file(CREATE_LINK ../../../share/robustrun/python/robustrun ${modules}/robustrun SYMBOLIC)
  # Where Debian's zsh looks.
  set(completions ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/zsh/vendor-completions)
  file(MAKE_DIRECTORY ${completions})
  file(CREATE_LINK ../site-functions/_robustrun ${completions}/_robustrun SYMBOLIC)
endif()
