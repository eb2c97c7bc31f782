include(GNUInstallDirs)
# The binary looks for the shim beside itself, for NCCL's plugin, the tables of faults and policies and
# the Python package in ../share/robustrun/ (in a build tree: the latter through the link made here,
# and the tables are within the binary). The Python package looks for librobustrun.so there.
set(installed_programs robustrun robustrun-blocks)
foreach(program robustrun-shim robustrun-probe)
  if(TARGET ${program})
    list(APPEND installed_programs ${program})
  endif()
endforeach()

# Further arguments go to each install().
function(rr_install programs_dir share_dir)
  install(TARGETS ${installed_programs} RUNTIME DESTINATION ${programs_dir} ${ARGN})
  install(TARGETS robustrun_tracer robustrun_library LIBRARY DESTINATION ${share_dir} ${ARGN})
  install(FILES configs/faults.toml configs/policy.toml DESTINATION ${share_dir} ${ARGN})
  install(DIRECTORY python/robustrun DESTINATION ${share_dir}/python ${ARGN}
          PATTERN __pycache__ EXCLUDE)
endfunction()

rr_install(${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_DATADIR}/robustrun)
install(FILES docs/cli.md docs/compat.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
if(SKBUILD)  # a wheel: the same, below the prefix of the environment that it is installed into
  rr_install(${SKBUILD_SCRIPTS_DIR} ${SKBUILD_DATA_DIR}/share/robustrun
             COMPONENT wheel EXCLUDE_FROM_ALL)
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/robustrun)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python ${CMAKE_BINARY_DIR}/share/robustrun/python SYMBOLIC)
