#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "kernels/kernels.h"

namespace rm {

struct CudaOptions {
    int device = 0;            // as CUDA counts
    bool reproducible = true;  // the same op on the same operands gives the same bits
    std::string tuning_file;   // algorithms of matrix products, read and added to; empty: none
};

// The CUDA backend, from librm_cuda.so beside the executable (or in ../bin or ../lib of it), opened
// at run time: executables never link it and run where there is no driver. Errors say what is
// missing (unavailable: the library, the driver, a newer driver, a device) and that the CPU backend
// is there.
Result<std::unique_ptr<Kernels>> load_cuda_kernels(const CudaOptions& options);
// Only what is missing; takes nothing on the device.
Status check_cuda_device(int device);

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

// A hash of the sources of base and kernels and of the compiler. C++ objects with virtual functions
// pass between librm_cuda.so and its user, so both must have been made from the same.
const char* cuda_library_build();

// The exports of librm_cuda.so, with C names.
using CudaLibraryBuild = const char*();
using CudaLibraryMake = void(const CudaOptions& options, Result<std::unique_ptr<Kernels>>& kernels);
using CudaLibraryCheck = void(int device, Status& status);
using CudaLibraryMakeFp8Linear = void(Device& device, const Fp8LinearSize& size,
                                      Result<std::unique_ptr<Fp8Linear>>& linear);
constexpr const char* kCudaLibraryBuildName = "rm_cuda_build";
constexpr const char* kCudaLibraryCheckName = "rm_cuda_check";
constexpr const char* kCudaLibraryMakeName = "rm_cuda_make_kernels";
constexpr const char* kCudaLibraryMakeFp8LinearName = "rm_cuda_make_fp8_linear";

}  // namespace rm
