#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/cuda/rmsnorm_pick.h"
#include "kernels/device/rmsnorm.cuh"
#include "kernels/scratch.h"

namespace rm::cuda {

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
    switch (pick_threads(op)) {
        case 32:
            return go.template operator()<device::RmsNormForward<32>>();
        case 64:
            return go.template operator()<device::RmsNormForward<64>>();
        case 128:
            return go.template operator()<device::RmsNormForward<128>>();
        case 256:
            return go.template operator()<device::RmsNormForward<256>>();
        case 512:
            return go.template operator()<device::RmsNormForward<512>>();
        default:
            return go.template operator()<device::RmsNormForwardAnyRow>();
    }
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

Bytes workspace_bytes(const RmsNormBwd& op) {
    Scratch scratch;
    const Parts parts(op, scratch);
    return scratch.used();
}

void run(const RmsNormBwd& op, Workspace workspace, const Launch& where) {
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1);
    Scratch scratch(workspace);
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
    switch (pick_threads(op)) {
        case 32:
            go.template operator()<device::RmsNormBackward<32>>();
            break;
        case 64:
            go.template operator()<device::RmsNormBackward<64>>();
            break;
        case 128:
            go.template operator()<device::RmsNormBackward<128>>();
            break;
        case 256:
            go.template operator()<device::RmsNormBackward<256>>();
            break;
        case 512:
            go.template operator()<device::RmsNormBackward<512>>();
            break;
        case 1024:
            go.template operator()<device::RmsNormBackward<1024>>();
            break;
        default:
            go.template operator()<device::RmsNormBackwardAnyRow>();
    }
    using Add = device::RmsNormAddParts;
    launch<Add>(where, one_block_each(ceil_div(C, Add::kThreads)),
                {.parts = parts.sums,
                 .d_weight = op.d_weight.as<float>(),
                 .num_parts = parts.count,
                 .C = C});
}

}  // namespace rm::cuda
