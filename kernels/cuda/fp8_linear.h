#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "kernels/kernels.h"

namespace rm {

// y = x W^T in e4m3 with current scaling: x is measured, scaled and rounded each time, W when it is
// prepared. For scripts/gpu_check, which measures it; the engine computes in bf16.
class Fp8Linear {
public:
    virtual ~Fp8Linear() = default;
    virtual void prepare(const TensorView& weight, Stream& stream) = 0;  // (N, K) f32
    // x (T, K) bf16, y (T, N) bf16; T is at most what it was made for.
    virtual void forward(const TensorView& x, const TensorView& y, Stream& stream) = 0;
};

// For T tokens; K and N are multiples of 16.
struct Fp8LinearSize {
    std::int64_t T = 0;
    std::int64_t N = 0;
    std::int64_t K = 0;
};
// On the device of kernels that load_cuda_kernels made, which outlives it.
Result<std::unique_ptr<Fp8Linear>> load_cuda_fp8_linear(Kernels& kernels,
                                                        const Fp8LinearSize& size);

}  // namespace rm
