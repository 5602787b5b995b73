#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kernels/cuda/matmul/matmul.h"
#include "kernels/fp8.h"

namespace rm {

// Products by cuBLASLt. An algorithm is the library's first choice for the product's sizes, layouts
// and alignment, asked for once; with a tuning file (kernels/cuda/matmul/tuning_file.h) the one
// that an earlier run used. Nothing is timed, so the same product gives the same bits; reproducible
// products sum their parts in a fixed order. unavailable: the library cannot start.
Result<std::unique_ptr<cuda::MatMul>> make_cublaslt_matmul(int device,
                                                           const std::string& tuning_file);

// out = or += (scale_a a) (scale_b b)^T: the one layout that FP8 has on sm_89. The scales are
// single f32 on the device.
struct Fp8Product {
    const void* a = nullptr;  // (rows, depth)
    const void* b = nullptr;  // (columns, depth)
    Fp8 a_type = Fp8::e4m3;
    Fp8 b_type = Fp8::e4m3;  // not both e5m2
    const float* scale_a = nullptr;
    const float* scale_b = nullptr;
    std::int64_t depth = 0;
    TensorView out;  // (rows, columns) bf16 or f32
    Into into = Into::overwrite;
};
void run_fp8_product(cuda::MatMul& cublaslt, const Fp8Product& product, Workspace workspace,
                     const Launch& where);

}  // namespace rm
