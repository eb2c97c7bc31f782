# Compiler flags and build options, all in the interface target rr_options.
option(ROBUSTRUN_TESTS "Build the tests" ON)
option(ROBUSTRUN_WERROR "Warnings are errors" OFF)
option(ROBUSTRUN_FUZZ "Build the fuzzers (clang)" OFF)
set(ROBUSTRUN_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined")

option(CMAKE_UNITY_BUILD "Compile several files of a room at once: a whole build in a fifth of the time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the source tree: all clones share one cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)

add_library(rr_options INTERFACE)
target_include_directories(rr_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(rr_options INTERFACE ROBUSTRUN_VERSION="${PROJECT_VERSION}")
target_compile_options(rr_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Wswitch-enum
  $<$<BOOL:${ROBUSTRUN_WERROR}>:-Werror>)
# As on x86: elsewhere char is unsigned, and a product and a sum are rounded once instead of twice.
target_compile_options(rr_options INTERFACE -fsigned-char -ffp-contract=off)
# __FILE__ relative to the tree: no path of the build machine in messages, and one ccache for all
# clones.
target_compile_options(rr_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
# At -O2, g++ 12.2 frees the text of a Result<string> twice when it moves into an empty optional
# (shown by valgrind; not with this option, nor at -O1).
target_compile_options(rr_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fno-ipa-modref>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(rr_options INTERFACE -Wno-subobject-linkage  # a .cpp is included there
    -Wno-maybe-uninitialized)  # wrong about moved variants in deeply inlined code
endif()
if(MOLD AND CMAKE_CROSSCOMPILING)
  # A cross-compiler looks for a linker under its own prefix; mold links for any processor.
  target_link_options(rr_options INTERFACE -B/usr/libexec/mold)
elseif(MOLD)
  target_link_options(rr_options INTERFACE -fuse-ld=mold)
endif()
if(ROBUSTRUN_SANITIZE)
  target_compile_options(rr_options INTERFACE -fsanitize=${ROBUSTRUN_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rr_options INTERFACE -fsanitize=${ROBUSTRUN_SANITIZE})
endif()
