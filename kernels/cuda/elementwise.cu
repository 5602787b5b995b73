#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/elementwise.cuh"

namespace rm::cuda {
namespace {

std::uint16_t* byte_pairs(const TensorView& tensor) {
    return static_cast<std::uint16_t*>(tensor.data());
}

template <typename From, typename To>
void convert(const Copy& op, const Launch& where) {
    launch_elements<device::Convert<From, To>::template Kernel, 8>(
        where, {op.from, op.to},
        {.from = op.from.as<From>(), .to = op.to.as<To>(), .count = op.to.num_elements()});
}

// f64 is for scalars: element by element.
template <typename From, typename To>
void convert_few(const Copy& op, const Launch& where) {
    using Kernel = typename device::Convert<From, To>::template Kernel<1>;
    const std::int64_t count = op.to.num_elements();
    launch<Kernel>(where, pick_grid<Kernel>(count, Kernel::kThreads, where.profile),
                   {.from = op.from.as<From>(), .to = op.to.as<To>(), .count = count});
}

template <typename X, typename Y>
void add(const Add& op, const Launch& where) {
    launch_elements<device::Add<X, Y>::template Kernel, 8>(
        where, {op.x, op.y}, {.x = op.x.as<X>(), .y = op.y.as<Y>(), .count = op.y.num_elements()});
}

}  // namespace

void run(const FillZero& op, const Launch& where) {
    launch_elements<device::FillZeroes, 8>(
        where, {op.x}, {.x = byte_pairs(op.x), .count = op.x.num_bytes().value / 2});
}

void run(const Copy& op, const Launch& where) {
    const DType from = op.from.dtype(), to = op.to.dtype();
    if (from == to) {
        return launch_elements<device::CopyBits, 8>(where, {op.from, op.to},
                                                    {.from = byte_pairs(op.from),
                                                     .to = byte_pairs(op.to),
                                                     .count = op.to.num_bytes().value / 2});
    }
    if (from == DType::f32 && to == DType::bf16) return convert<float, std::uint16_t>(op, where);
    if (from == DType::bf16 && to == DType::f32) return convert<std::uint16_t, float>(op, where);
    if (from == DType::f64 && to == DType::f32) return convert_few<double, float>(op, where);
    if (from == DType::f64) return convert_few<double, std::uint16_t>(op, where);
    if (from == DType::f32) return convert_few<float, double>(op, where);
    convert_few<std::uint16_t, double>(op, where);
}

void run(const Add& op, const Launch& where) {
    if (op.x.dtype() == DType::bf16) return add<std::uint16_t, std::uint16_t>(op, where);
    if (op.y.dtype() == DType::bf16) return add<float, std::uint16_t>(op, where);
    add<float, float>(op, where);
}

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
