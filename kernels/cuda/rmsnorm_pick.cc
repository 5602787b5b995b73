#include "kernels/cuda/rmsnorm_pick.h"

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

int pick_threads(const RmsNormFwd& op) {
    const std::int64_t C = op.x.dim(1);
    return rows_are_aligned(C, {op.x, op.weight, op.y}) ? smallest_block(C, 32, 512) : 0;
}

int pick_threads(const RmsNormBwd& op) {
    const std::int64_t C = op.x.dim(1);
    return rows_are_aligned(C, {op.d_y, op.x, op.weight, op.d_x}) ? smallest_block(C, 16, 1024) : 0;
}

}  // namespace rm::cuda
