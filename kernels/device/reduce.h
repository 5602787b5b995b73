#pragma once

#include "kernels/simt/simt.h"

namespace rm::device {

// The sum over the warp, in every lane; the order is fixed.
template <typename T>
SIMT_FN T warp_sum(T value) {
    for (int mask = 16; mask > 0; mask /= 2)
        value += simt::shfl_xor(value, mask);
    return value;
}

// The largest of the warp, in every lane.
SIMT_FN float warp_max(float value) {
    for (int mask = 16; mask > 0; mask /= 2)
        value = fmaxf(value, simt::shfl_xor(value, mask));
    return value;
}

// The largest of the block, in every thread; `maxima` as the sums below.
template <int kThreads>
SIMT_FN float block_max(float value, float* maxima) {
    value = warp_max(value);
    if (simt::lane() == 0) maxima[simt::warp()] = value;
    simt::sync_block();
    value = maxima[0];
    for (int i = 1; i < kThreads / 32; ++i)
        value = fmaxf(value, maxima[i]);
    return value;
}

// The sum over the block, in every thread; the order is fixed. `sums` holds one value per warp and
// may be used again after the next barrier.
template <int kThreads, typename T>
SIMT_FN T block_sum(T value, T* sums) {
    value = warp_sum(value);
    if (simt::lane() == 0) sums[simt::warp()] = value;
    simt::sync_block();
    T total = 0;
    for (int i = 0; i < kThreads / 32; ++i)
        total += sums[i];
    return total;
}

}  // namespace rm::device
