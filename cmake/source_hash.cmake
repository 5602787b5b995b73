# cmake -DROOT=... -DFOLDERS=a,b -DEXTRA=... -DHEADER=... -DFUNCTION=... -DOUTPUT=... -P source_hash.cmake: writes
# the source of `const char* FUNCTION()`, declared in HEADER: a hash of all sources in the folders, and of EXTRA.
string(REPLACE "," ";" folders "${FOLDERS}")
set(sources "")
foreach(folder ${folders})
  file(GLOB_RECURSE found RELATIVE "${ROOT}" "${ROOT}/${folder}/*.cc" "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.cu"
       "${ROOT}/${folder}/*.cuh")
  list(APPEND sources ${found})
endforeach()
list(SORT sources)
set(all "${EXTRA}\n")
foreach(source ${sources})
  file(SHA256 "${ROOT}/${source}" hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 build "${all}")
string(SUBSTRING "${build}" 0 16 build)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
"#include \"${HEADER}\"

namespace rm {

const char* ${FUNCTION}() { return \"${build}\"; }

}  // namespace rm
" @ONLY)
