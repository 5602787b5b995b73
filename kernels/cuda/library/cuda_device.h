#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <string_view>

#include "kernels/cuda/gpu_profile.h"
#include "kernels/device.h"

namespace rm {

// One GPU by CUDA's runtime: cudaMalloc at set-up, a host thread per stream that launches
// (kernels/queue_stream.h), pinned buffers for the host's copies. A fault of a kernel is known when
// its stream is next synchronized, by when others have been queued behind it: with RM_CUDA_SYNC=1
// in the environment every op is waited for, and the error names the right one.
std::unique_ptr<Device> make_cuda_device(int ordinal);

// Queues a copy between two CUDA devices: a DeviceCopy.
void copy_between_gpus(Device& sender, const TensorView& from, Device& receiver,
                       const TensorView& to, Stream& stream);

// The device as launchers may know it.
GpuProfile cuda_profile(int ordinal);

// A failed runtime call is a StreamError that names what was called.
void check_cuda(std::string_view what, cudaError_t status);

// 13010 is "13.1".
std::string cuda_version_text(int version);

// The CUDA stream behind one that the CUDA device made. For its own thread, in queued work.
cudaStream_t native_stream(Stream& stream);

}  // namespace rm
