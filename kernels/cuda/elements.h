#pragma once

#include "kernels/cuda/pick.h"

namespace rm::cuda {

// An element-wise kernel over params.count elements: K<kWide>, which moves that many at a time,
// when all tensors begin where that is possible, and K<1> otherwise.
template <template <int> typename K, int kWide>
void launch_elements(const Launch& where, std::initializer_list<TensorView> tensors,
                     const typename K<1>::Params& params) {
    const auto go = [&]<int kWidth>() {
        const std::int64_t per_block = static_cast<std::int64_t>(K<kWidth>::kThreads) * kWidth;
        launch<K<kWidth>>(where, pick_grid<K<kWidth>>(params.count, per_block, where.profile),
                          params);
    };
    if (starts_are_aligned(tensors)) return go.template operator()<kWide>();
    go.template operator()<1>();
}

}  // namespace rm::cuda
