#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/pack.cuh"

namespace rm::cuda {
namespace {

template <typename Kernel>
void launch_rows(const Launch& where, const typename Kernel::Params& params) {
    constexpr int kWarps = Kernel::kThreads / 32;
    launch<Kernel>(where, pick_grid<Kernel>(params.T, kWarps, where.profile), params);
}

bool fours_are_aligned(const TensorView& x) {
    return x.dim(1) % 4 == 0 && reinterpret_cast<std::uintptr_t>(x.data()) % 8 == 0;
}

}  // namespace

void run(const PackRows& op, const Launch& where) {
    const device::PackRowsParams params{.x = op.x.as<std::uint16_t>(),
                                        .packed = static_cast<std::uint32_t*>(op.packed.data()),
                                        .T = op.x.dim(0),
                                        .C = op.x.dim(1)};
    if (fours_are_aligned(op.x)) return launch_rows<device::PackRows<4>>(where, params);
    launch_rows<device::PackRows<1>>(where, params);
}

void run(const UnpackRows& op, const Launch& where) {
    const device::UnpackRowsParams params{
        .packed = static_cast<const std::uint32_t*>(op.packed.data()),
        .x = op.x.as<std::uint16_t>(),
        .T = op.x.dim(0),
        .C = op.x.dim(1)};
    if (fours_are_aligned(op.x)) return launch_rows<device::UnpackRows<4>>(where, params);
    launch_rows<device::UnpackRows<1>>(where, params);
}

}  // namespace rm::cuda
