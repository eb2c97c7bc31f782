# The shim: static, single-threaded, without exceptions or streams; one per worker.
file(GLOB shim_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/agent/shim/*.cpp)
list(FILTER shim_sources EXCLUDE REGEX "_test\\.cpp$")
if(shim_sources)
  list(APPEND shim_sources ${PROJECT_SOURCE_DIR}/base/io/strays.cpp)
  add_executable(robustrun-shim ${shim_sources})
  target_include_directories(robustrun-shim PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(robustrun-shim PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -fsigned-char -fno-exceptions -fno-rtti -Os $<$<BOOL:${ROBUSTRUN_WERROR}>:-Werror>)
  target_link_options(robustrun-shim PRIVATE -static)
  add_dependencies(robustrun robustrun-shim)
endif()
