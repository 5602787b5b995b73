# rm_source_hash(OUTPUT file FUNCTION name HEADER header FOLDERS base kernels): regenerates `file`
# whenever a source in the folders has changed.
set(RM_SOURCE_HASH_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/source_hash.cmake")
function(rm_source_hash)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUTPUT;FUNCTION;HEADER" "FOLDERS")
  list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE hashed CONFIGURE_DEPENDS ${patterns})
  string(REPLACE ";" "," folders "${arg_FOLDERS}")
  add_custom_command(
    OUTPUT "${arg_OUTPUT}"
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DFOLDERS=${folders}"
            "-DEXTRA=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DHEADER=${arg_HEADER}"
            "-DFUNCTION=${arg_FUNCTION}" "-DOUTPUT=${arg_OUTPUT}" -P "${RM_SOURCE_HASH_SCRIPT}"
    DEPENDS ${hashed} "${RM_SOURCE_HASH_SCRIPT}"
    COMMENT "${arg_FUNCTION}" VERBATIM)
endfunction()
