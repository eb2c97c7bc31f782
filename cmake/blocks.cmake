# robustrun-blocks: an image as one file, from a local store, peers and slow storage. A program of
# its own, because it alone links libfuse, and because it outlives the agent.
find_path(FUSE3_INCLUDE_DIR fuse3/fuse_lowlevel.h)
find_library(FUSE3_STATIC_LIBRARY libfuse3.a)
foreach(part FUSE3_INCLUDE_DIR FUSE3_STATIC_LIBRARY)
  if(NOT ${part})
    message(FATAL_ERROR "robustrun-blocks needs libfuse 3.14 (${part} is not found); "
                        "on Debian 12: apt-get install libfuse3-dev")
  endif()
endforeach()
add_library(rr_fuse INTERFACE)
target_include_directories(rr_fuse SYSTEM INTERFACE ${FUSE3_INCLUDE_DIR})
target_link_libraries(rr_fuse INTERFACE ${FUSE3_STATIC_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})

rr_room(blocks DIR bootstrap/blocks LINK rr_bootstrap EXCLUDE main.cpp
        PRIVATE_LINK rr_fuse rr_curl)
add_executable(robustrun-blocks bootstrap/blocks/main.cpp)
target_link_libraries(robustrun-blocks PRIVATE rr_blocks rr_options)
if(NOT ROBUSTRUN_SANITIZE)
  target_link_options(robustrun-blocks PRIVATE -static-libstdc++)  # it is pushed to hosts
  # The libcrypto of libcurl is a shared one: it must not meet the functions of our static one.
  target_link_options(robustrun-blocks PRIVATE -Wl,--exclude-libs,ALL)
endif()
