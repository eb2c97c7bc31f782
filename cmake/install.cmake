include(GNUInstallDirs)
# The binary looks for the shim in its own folder, and for NCCL's plugin, the tables of faults and
# policies and the Python package in ../share/robustrun/. In a build tree the Python package and the
# examples are links made here, and the tables are compiled in. The Python package looks for
# librobustrun.so there.
set(installed_programs robustrun robustrun-blocks)
foreach(program robustrun-shim robustrun-probe)
  if(TARGET ${program})
    list(APPEND installed_programs ${program})
  endif()
endforeach()

# `share_dir`: of all programs, with ours below it. Further arguments go to each install(). Shells
# and man(1) look into the share/ beside the bin/ that the program is in.
function(rr_install programs_dir share_dir)
  install(FILES scripts/completions/robustrun.bash
          DESTINATION ${share_dir}/bash-completion/completions RENAME robustrun ${ARGN})
  install(FILES scripts/completions/_robustrun DESTINATION ${share_dir}/zsh/site-functions ${ARGN})
  install(FILES docs/robustrun.1 DESTINATION ${share_dir}/man/man1 ${ARGN})
  string(APPEND share_dir /robustrun)
  install(TARGETS ${installed_programs} RUNTIME DESTINATION ${programs_dir} ${ARGN})
  install(TARGETS robustrun_tracer robustrun_library LIBRARY DESTINATION ${share_dir} ${ARGN})
  install(FILES configs/faults.toml configs/policy.toml configs/log_formats.toml
          DESTINATION ${share_dir} ${ARGN})
  install(FILES configs/grafana/robustrun.json DESTINATION ${share_dir}/grafana ${ARGN})
  install(FILES configs/prometheus/robustrun.yml DESTINATION ${share_dir}/prometheus ${ARGN})
  install(FILES examples/train.py examples/pretrain.py examples/classify.py
          DESTINATION ${share_dir}/examples ${ARGN})
  install(DIRECTORY python/robustrun DESTINATION ${share_dir}/python ${ARGN}
          PATTERN __pycache__ EXCLUDE)
endfunction()

rr_install(${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_DATADIR})
install(FILES docs/cli.md docs/compat.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
if(SKBUILD)  # a wheel: the same, below the prefix of the environment that it is installed into
  rr_install(${SKBUILD_SCRIPTS_DIR} ${SKBUILD_DATA_DIR}/share
             COMPONENT wheel EXCLUDE_FROM_ALL)
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/robustrun)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python ${CMAKE_BINARY_DIR}/share/robustrun/python SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/examples ${CMAKE_BINARY_DIR}/share/robustrun/examples SYMBOLIC)
