# Third-party libraries, all from Debian packages; docs/dependencies.md says why each.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf REQUIRED)
if(ROBUSTRUN_TESTS)
  find_package(doctest REQUIRED)
endif()

add_library(rr_boost INTERFACE)
target_link_libraries(rr_boost INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(rr_boost INTERFACE BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_DISABLE_BOOST_COROUTINE)

add_library(rr_json INTERFACE)
target_link_libraries(rr_json INTERFACE nlohmann_json::nlohmann_json)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(rr_xxhash INTERFACE)
