#pragma once

namespace rm {

// SHA-256 of the engine's and kernels' sources this program was built from: all ranks of an attempt
// must have the same.
const char* build_hash();

}  // namespace rm
