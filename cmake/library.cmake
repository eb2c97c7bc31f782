# librobustrun.so: checkpoints and training data for other languages (checkpoint/c_api/api.h,
# loader/c_api/api.h). It is loaded into any
# Python process, so it has its own C++ library and exports only rr_*. It has three files of base/io,
# and neither the log nor OpenSSL. tests/e2e/checkpoint/test_library.py checks the result.
set(library_exports ${PROJECT_SOURCE_DIR}/checkpoint/c_api_exports.map)
set_target_properties(rr_base_core rr_checkpoint rr_loader PROPERTIES POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
add_library(robustrun_library MODULE $<TARGET_OBJECTS:rr_checkpoint> $<TARGET_OBJECTS:rr_loader>
  $<TARGET_OBJECTS:rr_base_core>
  base/io/fd.cpp base/io/blocking_pool.cpp base/io/asio_impl.cpp)
set_target_properties(robustrun_library PROPERTIES OUTPUT_NAME robustrun CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${library_exports}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/share/robustrun)
target_link_libraries(robustrun_library PRIVATE rr_options rr_boost rr_fmt rr_uring)
target_link_options(robustrun_library PRIVATE -Wl,--version-script=${library_exports})
if(NOT ROBUSTRUN_SANITIZE)
  target_link_options(robustrun_library PRIVATE -static-libstdc++
    -Wl,--gc-sections -Wl,--as-needed -Wl,-z,defs)
endif()
add_dependencies(robustrun robustrun_library)
