#pragma once

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

// What librm_cuda.so exports, with C names. The library and its user must be of one build.
constexpr int kCudaLibraryVersion = 1;
using CudaLibraryVersion = int();
using CudaLibraryMake = void(const CudaOptions& options, Result<std::unique_ptr<Kernels>>& kernels);
constexpr const char* kCudaLibraryVersionName = "rm_cuda_version";
constexpr const char* kCudaLibraryMakeName = "rm_cuda_make_kernels";

}  // namespace rm
