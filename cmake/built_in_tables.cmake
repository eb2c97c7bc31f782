# Compiles the tables of configs/ into the program. An installation has them as files too, but the
# program alone (in a build tree, or copied elsewhere) must have its rules for failures.
set(tables_cpp ${CMAKE_BINARY_DIR}/generated/built_in_tables.cpp)
foreach(table faults policy log_formats)
  set(table_toml ${PROJECT_SOURCE_DIR}/configs/${table}.toml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table_toml})
  string(TOUPPER ROBUSTRUN_${table} table_variable)
  file(READ ${table_toml} ${table_variable})
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cli/tables/built_in_tables.cpp.in ${tables_cpp} @ONLY)
target_sources(rr_cli PRIVATE ${tables_cpp})
set_source_files_properties(${tables_cpp} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
