#include "kernels/cuda/cross_entropy_pick.h"

#include <algorithm>

#include "kernels/cuda/launch.h"

namespace rm::cuda {

std::int64_t pick_loss_rows(std::int64_t num_rows, std::int64_t V) {
    constexpr std::int64_t kMultiple = 64, kMostRows = 4096, kMostLogits = std::int64_t{1} << 28;
    const std::int64_t wanted = ceil_div(num_rows, kMultiple) * kMultiple;
    const std::int64_t that_fit = kMostLogits / V / kMultiple * kMultiple;
    return std::clamp(std::min(wanted, that_fit), kMultiple, kMostRows);
}

}  // namespace rm::cuda
