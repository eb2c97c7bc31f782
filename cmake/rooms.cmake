# rr_room(NAME DIR folder [LINK …] [PRIVATE_LINK …] [EXCLUDE file …])
# One static library per room, of all .cpp files in its folder and sub-rooms. EXCLUDE: files, or
# folders with a slash at the end, that belong to another target.
function(rr_room name)
  cmake_parse_arguments(ROOM "" "DIR" "LINK;PRIVATE_LINK;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${ROOM_DIR}/*.cpp)
  foreach(excluded ${ROOM_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${ROOM_DIR}/${excluded}")
  endforeach()
  if(NOT sources)
    add_library(rr_${name} INTERFACE)
    target_link_libraries(rr_${name} INTERFACE rr_options ${ROOM_LINK})
    return()
  endif()
  add_library(rr_${name} STATIC ${sources})
  target_link_libraries(rr_${name} PUBLIC rr_options ${ROOM_LINK} PRIVATE ${ROOM_PRIVATE_LINK})
endfunction()

# It includes <linux/tcp.h>, which defines the same names as <netinet/tcp.h>.
set_source_files_properties(agent/evidence/worker_sockets.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# They include <curl/curl.h>, which defines its functions as macros.
set_source_files_properties(base/io/http/curl_library.cpp base/io/http/post.cpp
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
