# configs/faults.toml within the program: it is found beside it too, but a copy of the program alone
# (a build tree, a binary that somebody carried elsewhere) must know what failures look like.
set(faults_toml ${PROJECT_SOURCE_DIR}/configs/faults.toml)
set(faults_cpp ${CMAKE_BINARY_DIR}/generated/built_in_faults.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${faults_toml})
file(READ ${faults_toml} ROBUSTRUN_FAULTS)
configure_file(${PROJECT_SOURCE_DIR}/cli/built_in_faults.cpp.in ${faults_cpp} @ONLY)
target_sources(rr_cli PRIVATE ${faults_cpp})
set_source_files_properties(${faults_cpp} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
