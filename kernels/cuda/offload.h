#pragma once

#include <span>
#include <vector>

#include "kernels/cuda/launch.h"
#include "kernels/tensor.h"

// Gathers a chunk's kept tensors into one buffer before they leave the device, so that one copy
// moves them, and scatters them after they come back. Data movement: no bit changes.
namespace rm {

struct OffloadPack {
    std::span<const TensorView> tensors;  // any dtypes and shapes
    void* buffer = nullptr;               // offload_bytes(tensors), 16-byte aligned
};
struct OffloadUnpack {
    const void* buffer = nullptr;
    std::span<const TensorView> tensors;
};

// Every tensor begins at a multiple of 64 bytes of the buffer, in order.
Bytes offload_bytes(std::span<const TensorView> tensors);

namespace cuda {

constexpr int kMaxOffloadPieces = 32;  // of one launch

// One tensor's part of a launch. Memory whose address is not a multiple of 16 goes two bytes at a
// time.
struct OffloadPiece {
    unsigned char* tensor = nullptr;
    std::int64_t offset = 0;  // in the buffer
    std::int64_t bytes = 0;
};
struct OffloadPlan {  // of one launch
    std::vector<OffloadPiece> pieces;
    int width = 16;  // bytes of an access, 16 or 2
};
std::vector<OffloadPlan> plan_offload(std::span<const TensorView> tensors);

void run(const OffloadPack& op, const Launch& where);
void run(const OffloadUnpack& op, const Launch& where);

}  // namespace cuda
}  // namespace rm
