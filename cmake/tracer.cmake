# NCCL's profiler plugin. It is loaded into any Python process, so it needs only glibc 2.28 or newer
# and exports only the tables that NCCL looks up. NCCL unloads it with its last communicator and loads
# it again, so it is kept (-z nodelete). tests/e2e/diagnosis/test_tracer_library.py checks the result.
file(GLOB tracer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tracer/nccl/*.cpp)
set(tracer_exports ${PROJECT_SOURCE_DIR}/tracer/nccl/exports.map)
add_library(robustrun_tracer MODULE ${tracer_sources})
set_target_properties(robustrun_tracer PROPERTIES UNITY_BUILD OFF CXX_VISIBILITY_PRESET hidden
  LINK_DEPENDS ${tracer_exports} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/share/robustrun)
target_link_libraries(robustrun_tracer PRIVATE rr_options)
target_compile_options(robustrun_tracer PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_options(robustrun_tracer PRIVATE -Wl,-z,nodelete -Wl,--version-script=${tracer_exports})
if(NOT ROBUSTRUN_SANITIZE)
  target_link_options(robustrun_tracer PRIVATE -static-libgcc -Wl,--as-needed -Wl,-z,defs)
endif()
add_dependencies(robustrun robustrun_tracer)
