#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "kernels/cuda/launch.h"
#include "kernels/kernels.h"

// Choices of launchers, by shapes and addresses. Host only.
namespace rm::cuda {

// Whether all tensors are aligned to 16 bytes.
bool starts_are_aligned(std::initializer_list<TensorView> tensors);
// Whether every row of `row` elements is, too, and consists of whole vectors of 8.
bool rows_are_aligned(std::int64_t row, std::initializer_list<TensorView> tensors);

// Blocks of kernel K for `items`, of which a block takes `per_block` at a time and then strides:
// as many as are resident at once, and none without work.
template <typename K>
simt::Extent pick_grid(std::int64_t items, std::int64_t per_block, const GpuProfile& profile) {
    const std::int64_t resident = static_cast<std::int64_t>(profile.num_sms) * K::kMinBlocks;
    return {.x = static_cast<int>(std::min(ceil_div(items, per_block), resident))};
}
// One block for every item, where the item's number is the block's.
inline simt::Extent one_block_each(std::int64_t items) {
    RM_CHECK(items <= std::numeric_limits<int>::max(), "a grid of {} blocks", items);
    return {.x = static_cast<int>(items)};
}

// Launches an element-wise kernel over params.count elements: K<kWide>, which moves that many at a
// time, if all tensors are aligned for that, and K<1> otherwise.
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

// Threads of the block that keeps a row in registers; 0: the rows are too wide or not aligned.
int pick_threads(const RmsNormFwd& op);
int pick_threads(const RmsNormBwd& op);

// Rows whose logits exist at once: enough that the products are limited by arithmetic, although
// each reads and writes the whole gradient of the head (V, C) once, and no more than 1 GiB of f32
// logits. A multiple of 64, at most 4,096; fewer when there are fewer rows.
std::int64_t pick_loss_rows(std::int64_t num_rows, std::int64_t V);

}  // namespace rm::cuda
