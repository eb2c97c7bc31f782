# Third-party libraries, all from Debian packages; docs/dependencies.md gives the reasons.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_library(PROTOBUF_LITE_LIBRARY NAMES libprotobuf-lite.a REQUIRED)
add_library(rr_protobuf INTERFACE)
target_link_libraries(rr_protobuf INTERFACE ${PROTOBUF_LITE_LIBRARY} ZLIB::ZLIB Threads::Threads)
set(OPENSSL_USE_STATIC_LIBS TRUE)  # the agent runs on hosts where nothing is installed
find_package(OpenSSL 3.0 REQUIRED)
set(ZLIB_USE_STATIC_LIBS TRUE)
find_package(ZLIB REQUIRED)
find_library(LIBSSH2_LIBRARY NAMES libssh2.a REQUIRED)
find_path(LIBSSH2_INCLUDE_DIR libssh2.h REQUIRED)
add_library(rr_libssh2 INTERFACE)
target_include_directories(rr_libssh2 SYSTEM INTERFACE ${LIBSSH2_INCLUDE_DIR})
target_link_libraries(rr_libssh2 INTERFACE ${LIBSSH2_LIBRARY} OpenSSL::Crypto ZLIB::ZLIB)
find_library(LIBURING_LIBRARY NAMES liburing.a REQUIRED)
find_path(LIBURING_INCLUDE_DIR liburing.h REQUIRED)
add_library(rr_uring INTERFACE)
target_include_directories(rr_uring SYSTEM INTERFACE ${LIBURING_INCLUDE_DIR})
target_link_libraries(rr_uring INTERFACE ${LIBURING_LIBRARY})
if(ROBUSTRUN_TESTS)
  find_package(doctest REQUIRED)
endif()

# Header-only: Debian has no static libraries of them (base/core/fmt_impl.cpp, base/io/log.cpp).
add_library(rr_fmt INTERFACE)
add_library(rr_spdlog INTERFACE)
target_link_libraries(rr_spdlog INTERFACE rr_fmt)
target_compile_definitions(rr_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)

find_path(CURL_INCLUDE_DIR curl/curl.h)
if(NOT CURL_INCLUDE_DIR)
  message(FATAL_ERROR "robustrun needs libcurl's headers; on Debian 12: apt-get install libcurl4-openssl-dev")
endif()
add_library(rr_curl INTERFACE)  # headers: base/io/http/curl_library.h loads it
target_include_directories(rr_curl SYSTEM INTERFACE ${CURL_INCLUDE_DIR})
target_link_libraries(rr_curl INTERFACE ${CMAKE_DL_LIBS})

add_library(rr_boost INTERFACE)
target_link_libraries(rr_boost INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(rr_boost INTERFACE BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_DISABLE_BOOST_COROUTINE)

add_library(rr_json INTERFACE)
target_link_libraries(rr_json INTERFACE nlohmann_json::nlohmann_json)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(rr_xxhash INTERFACE)
