#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/cuda/runtime.h"

namespace rm {

template <typename K>
__global__ void __launch_bounds__(K::kThreads, K::kMinBlocks)
    kernel_entry(const __grid_constant__ typename K::Params params) {
    extern __shared__ __align__(128) unsigned char shared[];
    K::run(params, *reinterpret_cast<typename K::Shared*>(shared));
}

template <typename K>
void launch(const Launch& where, simt::Extent grid, const typename K::Params& params) {
    static_assert(std::is_trivially_copyable_v<typename K::Params>);
    static_assert(sizeof(typename K::Params) <= 4096, "kernel parameters are at most 4 KB");
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    constexpr std::size_t kShared =
        std::is_empty_v<typename K::Shared> ? 0 : sizeof(typename K::Shared);
    if (where.log != nullptr) where.log->kernel(where.op, K::kName, grid, K::kThreads, kShared);
    if constexpr (kShared > 48 * 1024) {
        check_cuda(K::kName, cudaFuncSetAttribute(kernel_entry<K>,
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  static_cast<int>(kShared)));
    }
    const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                      static_cast<unsigned>(grid.z));
    kernel_entry<K><<<blocks, K::kThreads, kShared, native_stream(where.stream)>>>(params);
    check_cuda(K::kName, cudaGetLastError());
}

}  // namespace rm
