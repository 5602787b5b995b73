#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/cuda/library/cuda_device.h"

namespace rm {

template <typename K>
constexpr std::size_t kSharedBytes = std::is_empty_v<typename K::Shared>
                                         ? 0
                                         : sizeof(typename K::Shared);

template <typename K>
__global__ void __launch_bounds__(K::kThreads, K::kMinBlocks)
    kernel_entry(const __grid_constant__ typename K::Params params) {
    // A comment in the PTX: scripts/kernel_resources reads what the compiler cannot tell it.
    asm volatile("// shared bytes %0" ::"n"(kSharedBytes<K>));
    extern __shared__ __align__(128) unsigned char shared[];
    K::run(params, *reinterpret_cast<typename K::Shared*>(shared));
}

// The stream's thread launches: see kernels/queue_stream.h.
template <typename K>
void launch(const Launch& where, simt::Extent grid, const typename K::Params& params) {
    static_assert(std::is_trivially_copyable_v<typename K::Params>);
    static_assert(sizeof(typename K::Params) <= 4096, "kernel parameters are at most 4 KB");
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    constexpr std::size_t kShared = kSharedBytes<K>;
    if (where.log != nullptr) where.log->kernel(where.op, K::kName, grid, K::kThreads, kShared);
    const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                      static_cast<unsigned>(grid.z));
    where.stream.enqueue(K::kName, [blocks, params, stream = native_stream(where.stream)] {
        if constexpr (kShared > 48 * 1024) {
            check_cuda(
                "cudaFuncSetAttribute",
                cudaFuncSetAttribute(kernel_entry<K>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(kShared)));
        }
        kernel_entry<K><<<blocks, K::kThreads, kShared, stream>>>(params);
        check_cuda("launch", cudaGetLastError());
    });
}

}  // namespace rm
