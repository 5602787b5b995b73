# Finds oneDNN by its header and library. Its own package configuration demands OpenCL, which a CPU build of the
# project does not use. Defines the target Dnnl::Dnnl.
find_path(Dnnl_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(Dnnl_LIBRARY dnnl)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Dnnl REQUIRED_VARS Dnnl_LIBRARY Dnnl_INCLUDE_DIR)
if(Dnnl_FOUND AND NOT TARGET Dnnl::Dnnl)
  add_library(Dnnl::Dnnl UNKNOWN IMPORTED)
  set_target_properties(Dnnl::Dnnl PROPERTIES IMPORTED_LOCATION "${Dnnl_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${Dnnl_INCLUDE_DIR}")
endif()
mark_as_advanced(Dnnl_INCLUDE_DIR Dnnl_LIBRARY)
