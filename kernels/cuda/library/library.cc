#include <cuda_runtime.h>

#include <cstdlib>
#include <iostream>

#include "kernels/cuda/device_kernels.h"
#include "kernels/cuda/library/cuda_device.h"
#include "kernels/cuda/matmul/matmul_cublaslt.h"
#include "kernels/device_copy.h"
#include "kernels/device_library.h"

// The door of librm_cuda.so.
namespace rm {

namespace {

// A driver serves every toolkit of its major version and those before.
Status check_driver() {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) {
        return make_error(ErrorCode::unavailable,
                          "this machine has no NVIDIA driver (libcuda.so.1 is not found)");
    }
    if (driver / 1000 >= CUDART_VERSION / 1000) return {};
    return make_error(ErrorCode::unavailable,
                      "the driver is too old: it serves CUDA {}, this build needs {}",
                      cuda_version_text(driver), cuda_version_text(CUDART_VERSION));
}

Status check_device(int ordinal) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess && status != cudaErrorNoDevice) {
        return make_error(ErrorCode::unavailable, "the driver fails: {}",
                          cudaGetErrorString(status));
    }
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (ordinal < count) return {};
    return make_error(ErrorCode::unavailable, "device {} was asked for, the driver shows {}{}",
                      ordinal, count,
                      visible == nullptr ? "" : format(" (CUDA_VISIBLE_DEVICES={})", visible));
}

Status check(int device) {
    RM_CHECK(device >= 0, "device {}; CUDA counts from 0", device);
    RM_RETURN_IF_ERROR(check_driver());
    return check_device(device);
}

Result<std::unique_ptr<Kernels>> make_kernels(const DeviceOptions& options) {
    RM_RETURN_IF_ERROR(check(options.device));
    const GpuProfile profile = cuda_profile(options.device);
    std::unique_ptr<Device> device = make_cuda_device(options.device);
    RM_TRY(std::unique_ptr<cuda::MatMul> matmul,
           make_cublaslt_matmul(options.device, options.tuning_file));
    return make_device_kernels({.name = "cuda",
                                .device = std::move(device),
                                .matmul = std::move(matmul),
                                .profile = profile},
                               {.reproducible = options.reproducible,
                                .explain = explains("kernels") ? &std::cerr : nullptr});
}

}  // namespace
}  // namespace rm

#define RM_EXPORT extern "C" __attribute__((visibility("default")))

RM_EXPORT const char* rm_device_build() {
    return rm::device_library_build();
}

RM_EXPORT void rm_device_check(int device, rm::Status& status) {
    status = rm::check(device);
}

RM_EXPORT void rm_device_copy(rm::Device& sender, const rm::TensorView& from, rm::Device& receiver,
                              const rm::TensorView& to, rm::Stream& stream) {
    rm::copy_between_gpus(sender, from, receiver, to, stream);
}

RM_EXPORT void rm_device_make_kernels(const rm::DeviceOptions& options,
                                      rm::Result<std::unique_ptr<rm::Kernels>>& kernels) {
    kernels = rm::make_kernels(options);
}
