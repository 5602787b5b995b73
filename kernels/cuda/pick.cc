#include "kernels/cuda/pick.h"

namespace rm::cuda {
namespace {

// The smallest block of 32, 64, ... threads that holds C elements, `elements` in each thread.
int smallest_block(std::int64_t C, int elements, int most) {
    for (int threads = 32; threads <= most; threads *= 2) {
        if (C <= static_cast<std::int64_t>(threads) * elements) return threads;
    }
    return 0;
}

}  // namespace

bool starts_are_aligned(std::initializer_list<TensorView> tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const TensorView& tensor) {
        return reinterpret_cast<std::uintptr_t>(tensor.data()) % 16 == 0;
    });
}

bool rows_are_aligned(std::int64_t row, std::initializer_list<TensorView> tensors) {
    return row % 8 == 0 && starts_are_aligned(tensors);
}

int pick_threads(const RmsNormFwd& op) {
    const std::int64_t C = op.x.dim(1);
    return rows_are_aligned(C, {op.x, op.weight, op.y}) ? smallest_block(C, 32, 512) : 0;
}

int pick_threads(const RmsNormBwd& op) {
    const std::int64_t C = op.x.dim(1);
    return rows_are_aligned(C, {op.d_y, op.x, op.weight, op.d_x}) ? smallest_block(C, 16, 1024) : 0;
}

std::int64_t pick_loss_rows(std::int64_t num_rows, std::int64_t V) {
    constexpr std::int64_t kMultiple = 64, kMostRows = 4096, kMostLogits = std::int64_t{1} << 28;
    const std::int64_t wanted = ceil_div(num_rows, kMultiple) * kMultiple;
    const std::int64_t that_fit = kMostLogits / V / kMultiple * kMultiple;
    return std::clamp(std::min(wanted, that_fit), kMultiple, kMostRows);
}

}  // namespace rm::cuda
