# Finds CBC by its C interface and libraries (Debian's package has no CMake configuration). Makes the target Cbc::Cbc.
find_path(Cbc_INCLUDE_DIR coin/Cbc_C_Interface.h)
find_library(Cbc_LIBRARY CbcSolver)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cbc REQUIRED_VARS Cbc_LIBRARY Cbc_INCLUDE_DIR)
if(Cbc_FOUND AND NOT TARGET Cbc::Cbc)
  add_library(Cbc::Cbc UNKNOWN IMPORTED)
  set_target_properties(Cbc::Cbc PROPERTIES IMPORTED_LOCATION "${Cbc_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${Cbc_INCLUDE_DIR}")
endif()
mark_as_advanced(Cbc_INCLUDE_DIR Cbc_LIBRARY)
