#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/rmsnorm.cuh"
#include "kernels/scratch.h"

namespace rm::cuda {
namespace {

// go<K>() for the kernel whose block has `threads`, or for AnyRow where there is none.
template <template <int> typename Kernel, typename AnyRow, int... kThreads, typename Go>
void with_block(int threads, const Go& go) {
    const auto goes = [&]<int kCandidate>() {
        if (threads == kCandidate) go.template operator()<Kernel<kCandidate>>();
        return threads == kCandidate;
    };
    if (!(goes.template operator()<kThreads>() || ...)) go.template operator()<AnyRow>();
}

}  // namespace

void run(const RmsNormFwd& op, const Launch& where) {
    const std::int64_t T = op.x.dim(0);
    const device::RmsNormForwardParams params{.x = op.x.as<std::uint16_t>(),
                                              .weight = op.weight.as<float>(),
                                              .y = op.y.as<std::uint16_t>(),
                                              .rstd = op.rstd.as<float>(),
                                              .T = T,
                                              .C = op.x.dim(1),
                                              .eps = static_cast<float>(op.eps)};
    const auto go = [&]<typename Kernel>() {
        launch<Kernel>(where, pick_grid<Kernel>(T, 1, where.profile), params);
    };
    with_block<device::RmsNormForward, device::RmsNormForwardAnyRow, 32, 64, 128, 256, 512>(
        pick_threads(op), go);
}

namespace {

// Each block's part of the gradient of the weight.
struct Parts {
    Parts(const RmsNormBwd& op, Scratch& scratch)
        : count(ceil_div(op.x.dim(0), device::kRmsNormRows)),
          sums(scratch.floats(count * op.x.dim(1))) {}
    std::int64_t count;
    float* sums;  // (count, C)
};

}  // namespace

Bytes workspace_bytes(const RmsNormBwd& op, const MatMul&) {
    Scratch scratch;
    const Parts parts(op, scratch);
    return scratch.used();
}

void run(const RmsNormBwd& op, const Launch& where) {
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1);
    Scratch scratch(where.workspace);
    const Parts parts(op, scratch);
    const device::RmsNormBackwardParams params{.d_y = op.d_y.as<std::uint16_t>(),
                                               .x = op.x.as<std::uint16_t>(),
                                               .weight = op.weight.as<float>(),
                                               .rstd = op.rstd.as<float>(),
                                               .d_x = op.d_x.as<std::uint16_t>(),
                                               .parts = parts.sums,
                                               .T = T,
                                               .C = C};
    const auto go = [&]<typename Kernel>() {
        launch<Kernel>(where, one_block_each(parts.count), params);
    };
    with_block<device::RmsNormBackward, device::RmsNormBackwardAnyRow, 32, 64, 128, 256, 512, 1024>(
        pick_threads(op), go);
    using Add = device::RmsNormAddParts;
    launch<Add>(where, one_block_each(ceil_div(C, Add::kThreads)),
                {.parts = parts.sums,
                 .d_weight = op.d_weight.as<float>(),
                 .num_parts = parts.count,
                 .C = C});
}

}  // namespace rm::cuda
