#include "kernels/cuda/attention/attention_pick.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ops.h"
#include "kernels/device/attention/attention_state.cuh"

// The ops around attention. All are rows of D: (T, Hq) is one dim to them.
namespace rm::cuda {
namespace {

template <template <int> typename Kernel, int kHead>
void launch_rows(const Launch& where, const typename Kernel<kHead>::Params& params) {
    const std::int64_t blocks = ceil_div(params.num_rows, device::RowPart<kHead>::kRowsPerBlock);
    launch<Kernel<kHead>>(where, {.x = static_cast<int>(blocks)}, params);
}

// params_of(type) makes the parameters for a kernel of that type.
template <template <int> typename Kernel, typename ParamsOf>
void launch_for(std::int64_t D, const Launch& where, const ParamsOf& params_of) {
    if (head_columns(Kernel<64>::kName, D) == 64) {
        launch_rows<Kernel, 64>(where, params_of.template operator()<Kernel<64>>());
    } else {
        launch_rows<Kernel, 128>(where, params_of.template operator()<Kernel<128>>());
    }
}

}  // namespace

void run(const AttentionBegin& op, const Launch& where) {
    const std::int64_t D = op.state.acc.dim(2);
    launch_for<device::AttentionStart>(D, where, [&]<typename Kernel>() {
        return typename Kernel::Params{.acc = op.state.acc.as<float>(),
                                       .m = op.state.m.as<float>(),
                                       .l = op.state.l.as<float>(),
                                       .num_rows = op.state.m.num_elements(),
                                       .D = static_cast<int>(D)};
    });
}

void run(const AttentionMerge& op, const Launch& where) {
    const std::int64_t D = op.state.acc.dim(2);
    launch_for<device::AttentionJoin>(D, where, [&]<typename Kernel>() {
        return typename Kernel::Params{.other_acc = op.other.acc.as<float>(),
                                       .other_m = op.other.m.as<float>(),
                                       .other_l = op.other.l.as<float>(),
                                       .acc = op.state.acc.as<float>(),
                                       .m = op.state.m.as<float>(),
                                       .l = op.state.l.as<float>(),
                                       .num_rows = op.state.m.num_elements(),
                                       .D = static_cast<int>(D)};
    });
}

void run(const AttentionFinish& op, const Launch& where) {
    const std::int64_t D = op.out.dim(2);
    launch_for<device::AttentionEnd>(D, where, [&]<typename Kernel>() {
        return typename Kernel::Params{.acc = op.state.acc.as<float>(),
                                       .m = op.state.m.as<float>(),
                                       .l = op.state.l.as<float>(),
                                       .out = op.out.as<std::uint16_t>(),
                                       .lse = op.lse.as<float>(),
                                       .num_rows = op.lse.num_elements(),
                                       .D = static_cast<int>(D)};
    });
}

void run(const AttentionDelta& op, const Launch& where) {
    const std::int64_t D = op.out.dim(2);
    launch_for<device::AttentionRowSums>(D, where, [&]<typename Kernel>() {
        return typename Kernel::Params{.d_out = op.d_out.as<std::uint16_t>(),
                                       .out = op.out.as<std::uint16_t>(),
                                       .delta = op.delta.as<float>(),
                                       .num_rows = op.delta.num_elements(),
                                       .D = static_cast<int>(D)};
    });
}

}  // namespace rm::cuda
