#pragma once

#include <cuda_runtime.h>

#include <string_view>

#include "kernels/device.h"

namespace rm {

// A failed runtime call is a StreamError that names what was called.
void check_cuda(std::string_view what, cudaError_t status);

// Of a stream that the CUDA device made. Used on the stream's own thread, by what is queued there.
cudaStream_t native_stream(Stream& stream);

}  // namespace rm
