#pragma once

#include <memory>
#include <ostream>
#include <string_view>

#include "kernels/cuda/matmul/matmul.h"
#include "kernels/kernels.h"

// The backend of the device kernels, made of its parts. `cuda` gives it CUDA's runtime and
// cuBLASLt, `emu` host memory and host loops; everything else they share. Computes in bf16; sums,
// weights' gradients and weights are f32.
namespace rm {

struct DeviceKernelsParts {
    std::string_view name;
    std::unique_ptr<Device> device;
    std::unique_ptr<cuda::MatMul> matmul;
    GpuProfile profile;
};

struct DeviceKernelsOptions {
    bool reproducible = true;  // the same op on the same operands gives the same bits
    simt::Emulation emulation{};
    std::ostream* explain = nullptr;  // gets one line per distinct choice of a kernel; borrowed
};

std::unique_ptr<Kernels> make_device_kernels(DeviceKernelsParts parts,
                                             const DeviceKernelsOptions& options);

}  // namespace rm
