#include "kernels/cuda/elements.h"
#include "kernels/cuda/ops.h"
#include "kernels/device/elementwise.cuh"

namespace rm::cuda {

void run(const SwigluFwd& op, const Launch& where) {
    launch_elements<device::SwigluForward, 8>(where, {op.gate, op.up, op.h},
                                              {.gate = op.gate.as<std::uint16_t>(),
                                               .up = op.up.as<std::uint16_t>(),
                                               .h = op.h.as<std::uint16_t>(),
                                               .count = op.h.num_elements()});
}

void run(const SwigluBwd& op, const Launch& where) {
    launch_elements<device::SwigluBackward, 8>(where, {op.d_h, op.gate, op.up, op.d_gate, op.d_up},
                                               {.d_h = op.d_h.as<std::uint16_t>(),
                                                .gate = op.gate.as<std::uint16_t>(),
                                                .up = op.up.as<std::uint16_t>(),
                                                .d_gate = op.d_gate.as<std::uint16_t>(),
                                                .d_up = op.d_up.as<std::uint16_t>(),
                                                .count = op.d_h.num_elements()});
}

}  // namespace rm::cuda
