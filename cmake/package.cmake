# `make package`: a tarball that runs wherever it is unpacked, and a Debian package (CPack). The wheel
# is made by scikit-build-core in the same build folder (pyproject.toml).

# The licences of what is linked statically, as Debian has them (Boost's asks for nothing in programs).
set(licences ${CMAKE_BINARY_DIR}/third-party-licenses.txt)
file(WRITE ${licences} "robustrun's programs contain parts of these libraries.\n")
foreach(package libfmt-dev libspdlog-dev libprotobuf-dev libssl-dev libssh2-1-dev liburing-dev
        libfuse3-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev
        libstdc++-12-dev libc6-dev)
  set(copyright /usr/share/doc/${package}/copyright)
  if(EXISTS ${copyright})
    file(READ ${copyright} text)
    file(APPEND ${licences} "\n\n==== ${package} ====\n\n${text}")
  endif()
endforeach()
install(FILES ${licences} DESTINATION ${CMAKE_INSTALL_DATADIR}/robustrun)
if(SKBUILD)
  install(FILES ${licences} DESTINATION ${SKBUILD_DATA_DIR}/share/robustrun
          COMPONENT wheel EXCLUDE_FROM_ALL)
endif()

set(arch ${CMAKE_SYSTEM_PROCESSOR})
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_PACKAGE_NAME robustrun)
set(CPACK_PACKAGE_VENDOR "The robustrun maintainers")
set(CPACK_PACKAGE_CONTACT "The robustrun maintainers <maintainers@robustrun.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "starts, watches and restarts distributed PyTorch jobs")
set(CPACK_PACKAGE_DESCRIPTION "robustrun takes the place of torchrun, on one machine, over SSH or in \
Slurm, and reports which rank failed or hangs, where, and what the failure cost.")
set(CPACK_PACKAGE_FILE_NAME robustrun-${PROJECT_VERSION}-linux-${arch})
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ DEB)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${ROBUSTRUN_GLIBC})")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "python3 (>= 3.8), openssh-client, fuse3, libcurl4 | libcurl4t64, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "squashfuse, bubblewrap, libisal2")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/scripts/debian/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# The Debian package: `import robustrun` with the system's Python. The tarball: the script that is
# called.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)
set(CPACK_ROBUSTRUN_ENTRY ${CMAKE_BINARY_DIR}/entry)
set(glibc ${ROBUSTRUN_GLIBC})
set(loader /lib64/ld-linux-x86-64.so.2)
if(arch STREQUAL aarch64)
  set(loader /lib/ld-linux-aarch64.so.1)
endif()
configure_file(${PROJECT_SOURCE_DIR}/scripts/entry.in ${CPACK_ROBUSTRUN_ENTRY} @ONLY
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
include(CPack)
