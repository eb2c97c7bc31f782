include(GNUInstallDirs)
# The binary looks for the shim in its own folder, and for NCCL's plugin, the tables of faults and
# policies and the Python package in ../share/robustrun/. In a build tree the Python package and the
# examples are links made here, and the tables are compiled in. The Python package looks for
# librobustrun.so there.
if(TARGET robustrun-shim)
  install(TARGETS robustrun-shim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET robustrun-probe)
  install(TARGETS robustrun-probe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS robustrun robustrun-blocks RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS robustrun_tracer robustrun_library LIBRARY DESTINATION ${CMAKE_INSTALL_DATADIR}/robustrun)
install(DIRECTORY python/robustrun DESTINATION ${CMAKE_INSTALL_DATADIR}/robustrun/python
        PATTERN __pycache__ EXCLUDE)
install(FILES examples/train.py DESTINATION ${CMAKE_INSTALL_DATADIR}/robustrun/examples)
install(FILES configs/faults.toml configs/policy.toml
        DESTINATION ${CMAKE_INSTALL_DATADIR}/robustrun)
install(FILES docs/cli.md docs/compat.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/robustrun)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python ${CMAKE_BINARY_DIR}/share/robustrun/python SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/examples ${CMAKE_BINARY_DIR}/share/robustrun/examples SYMBOLIC)
