# CPack runs it on the files of each package, before it packs them.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(CPACK_GENERATOR STREQUAL DEB)
  set(modules ${root}/usr/lib/python3/dist-packages)
  file(MAKE_DIRECTORY ${modules})
  file(CREATE_LINK ../../../share/robustrun/python/robustrun ${modules}/robustrun SYMBOLIC)
  # Where Debian's zsh looks.
  set(completions ${root}/usr/share/zsh/vendor-completions)
  file(MAKE_DIRECTORY ${completions})
  file(CREATE_LINK ../site-functions/_robustrun ${completions}/_robustrun SYMBOLIC)
else()
  # Installers refuse the other packages where the programs cannot run. Here a script says why.
  file(RENAME ${root}/bin ${root}/libexec)
  file(MAKE_DIRECTORY ${root}/bin)
  configure_file(${CPACK_ROBUSTRUN_ENTRY} ${root}/bin/robustrun COPYONLY)
  # The script cannot pass on the name that it was called by.
  foreach(name torchrun torch.distributed.launch)
    file(CREATE_LINK robustrun ${root}/libexec/${name} SYMBOLIC)
  endforeach()
endif()
