#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kernels/cuda/matmul/matmul.h"

namespace rm {

// Products by cuBLASLt. An algorithm is the library's first choice for the product's sizes, layouts
// and alignment, asked for once; with a tuning file (kernels/cuda/matmul/tuning_file.h) the one
// that an earlier run used. Nothing is timed, so the same product gives the same bits; reproducible
// products sum their parts in a fixed order. unavailable: the library cannot start.
Result<std::unique_ptr<cuda::MatMul>> make_cublaslt_matmul(int device,
                                                           const std::string& tuning_file);

}  // namespace rm
