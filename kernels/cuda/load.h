#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kernels/cuda/fp8_linear.h"
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

// What librm_cuda.so exports, with C names. The library and its user must be of one build.
constexpr int kCudaLibraryVersion = 1;
using CudaLibraryVersion = int();
using CudaLibraryMake = void(const CudaOptions& options, Result<std::unique_ptr<Kernels>>& kernels);
using CudaLibraryCheck = void(int device, Status& status);
using CudaLibraryMakeFp8Linear = void(Device& device, const Fp8LinearSize& size,
                                      Result<std::unique_ptr<Fp8Linear>>& linear);
constexpr const char* kCudaLibraryVersionName = "rm_cuda_version";
constexpr const char* kCudaLibraryCheckName = "rm_cuda_check";
constexpr const char* kCudaLibraryMakeName = "rm_cuda_make_kernels";
constexpr const char* kCudaLibraryMakeFp8LinearName = "rm_cuda_make_fp8_linear";

}  // namespace rm
