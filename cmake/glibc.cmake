# -DROBUSTRUN_GLIBC=2.28: what is installed needs no newer glibc than that, and of other libraries
# none. Objects are those of any build; they are linked against the start files and libraries of
# that version (scripts/glibc_stubs.py), with base/glibc/ for what our code and static libraries want
# beyond it.
# tests/e2e/install/nightly_packages.py looks at the result.
set(ROBUSTRUN_GLIBC "" CACHE STRING "Oldest glibc that the programs must run with; empty: the system's")
if(NOT ROBUSTRUN_GLIBC)
  return()
endif()
if(NOT MOLD)
  message(FATAL_ERROR "ROBUSTRUN_GLIBC needs mold; on Debian 12: apt-get install mold")
endif()
set(glibc_stubs ${CMAKE_BINARY_DIR}/glibc-${ROBUSTRUN_GLIBC})
set(packagers ${PROJECT_SOURCE_DIR}/.venv-package/bin/python)
if(NOT EXISTS ${packagers})
  message(FATAL_ERROR "ROBUSTRUN_GLIBC needs .venv-package: scripts/install-deps.sh package")
endif()
execute_process(COMMAND ${packagers} ${PROJECT_SOURCE_DIR}/scripts/glibc_stubs.py
                        ${CMAKE_SYSTEM_PROCESSOR} ${ROBUSTRUN_GLIBC} ${glibc_stubs}
                COMMAND_ERROR_IS_FATAL ANY)

file(GLOB glibc_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/base/glibc/*.cpp)
add_library(rr_glibc STATIC ${glibc_sources})
set_target_properties(rr_glibc PROPERTIES UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden)
target_link_libraries(rr_glibc PRIVATE rr_options)
foreach(target robustrun robustrun-blocks robustrun_library robustrun_tracer)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${glibc_stubs}/made-for)
  target_link_options(${target} PRIVATE -B${glibc_stubs}/ -L${glibc_stubs} -static-libgcc
                      -Wl,--as-needed)
  if(NOT target STREQUAL robustrun_tracer)  # of libc alone
    target_link_libraries(${target} PRIVATE rr_glibc pthread dl)
  else()  # but for dlopen(), which is in no library that it needs (tracer/nccl/behind.cpp)
    target_link_options(${target} PRIVATE -Wl,-z,undefs)
  endif()
endforeach()
