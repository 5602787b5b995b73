#include "kernels/cuda/launch.h"
#include "kernels/cuda/ops.h"
#include "kernels/device/rmsnorm.cuh"

namespace rm::cuda {

void run(const RmsNormFwd& op, const Launch& where) {
    using Kernel = device::RmsNormForward;
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1);
    launch<Kernel>(where, {.x = static_cast<int>(T)},
                   {.x = op.x.as<std::uint16_t>(),
                    .weight = op.weight.as<float>(),
                    .y = op.y.as<std::uint16_t>(),
                    .rstd = op.rstd.as<float>(),
                    .C = static_cast<int>(C),
                    .eps = static_cast<float>(op.eps)});
}

}  // namespace rm::cuda
