# cmake -DROOT=... -DOUTPUT=... -P build_hash.cmake: writes the source of build_hash().
file(GLOB_RECURSE sources RELATIVE "${ROOT}" "${ROOT}/engine/*.cc" "${ROOT}/engine/*.h"
     "${ROOT}/kernels/*.cc" "${ROOT}/kernels/*.h" "${ROOT}/kernels/*.cu" "${ROOT}/kernels/*.cuh")
list(SORT sources)
set(all "")
foreach(source ${sources})
  file(SHA256 "${ROOT}/${source}" hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 build "${all}")
string(SUBSTRING "${build}" 0 16 build)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
"#include \"worker/daemon/build_hash.h\"

namespace rm {

const char* build_hash() { return \"${build}\"; }

}  // namespace rm
" @ONLY)
