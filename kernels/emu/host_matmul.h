#pragma once

#include <memory>

#include "kernels/cuda/matmul.h"

namespace rm {

// Products by loops on the stream's thread, every sum in f32 and in ascending order of the depth.
// With an f32 target and Into::add the target itself is the sum, so that cutting a product along
// its depth changes no bit. (cuBLASLt does not promise that.)
std::unique_ptr<cuda::MatMul> make_host_matmul();

}  // namespace rm
