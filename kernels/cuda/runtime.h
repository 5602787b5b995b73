#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "kernels/device.h"

namespace rm {

// A failed runtime call is a StreamError that names what was called.
void check_cuda(std::string_view what, cudaError_t status);

// The CUDA stream behind one that the CUDA device made. For its own thread, in queued work.
cudaStream_t native_stream(Stream& stream);

}  // namespace rm
