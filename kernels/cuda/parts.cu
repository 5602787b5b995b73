#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/parts.cuh"

namespace rm::cuda {
namespace {

// The heads of the first token that are moved, from the first of them on.
TensorView heads_from(const TensorView& tensor, std::int64_t first, std::int64_t count) {
    const std::int64_t D = tensor.dim(2);
    auto* data = static_cast<char*>(tensor.data()) + first * D * size_of(tensor.dtype());
    return {data, tensor.dtype(), {count, D}};
}

template <typename From, typename To>
void move_heads(const CopyHeads& op, const Launch& where) {
    const TensorView from = heads_from(op.from, op.from_first, op.count);
    const TensorView to = heads_from(op.to, op.to_first, op.count);
    const std::int64_t D = from.dim(1);
    const device::MoveHeadsParams<From, To> params{.from = from.as<From>(),
                                                   .to = to.as<To>(),
                                                   .tokens = op.from.dim(0),
                                                   .width = op.count * D,
                                                   .from_step = op.from.dim(1) * D,
                                                   .to_step = op.to.dim(1) * D,
                                                   .add = op.into == Into::add};
    const auto go = [&]<int kWidth>() {
        using Kernel = typename device::MoveHeads<From, To>::template Kernel<kWidth>;
        const std::int64_t vectors = params.tokens * (params.width / kWidth);
        launch<Kernel>(where, pick_grid<Kernel>(vectors, Kernel::kThreads, where.profile), params);
    };
    const bool steps_are_aligned = params.from_step % 8 == 0 && params.to_step % 8 == 0;
    if (steps_are_aligned && rows_are_aligned(params.width, {from, to}))
        return go.template operator()<8>();
    go.template operator()<1>();
}

template <typename From>
void move_heads_from(const CopyHeads& op, const Launch& where) {
    if (op.to.dtype() == DType::bf16) return move_heads<From, std::uint16_t>(op, where);
    move_heads<From, float>(op, where);
}

template <typename T>
void sum_parts(const SumParts& op, const Launch& where) {
    const std::int64_t size = op.y.num_elements();
    const device::SumPartsParams<T> params{.parts = op.parts.as<T>(),
                                           .y = op.y.as<T>(),
                                           .count = size,
                                           .num_parts = static_cast<int>(op.parts.dim(0)),
                                           .add = op.into == Into::add};
    const auto go = [&]<int kWidth>() {
        using Kernel = typename device::SumOfParts<T>::template Kernel<kWidth>;
        const std::int64_t per_block = Kernel::kThreads * kWidth;
        launch<Kernel>(where, pick_grid<Kernel>(size, per_block, where.profile), params);
    };
    if (rows_are_aligned(size, {op.parts, op.y})) return go.template operator()<8>();
    go.template operator()<1>();
}

}  // namespace

void run(const CopyHeads& op, const Launch& where) {
    if (op.from.dtype() == DType::bf16) return move_heads_from<std::uint16_t>(op, where);
    move_heads_from<float>(op, where);
}

void run(const SumParts& op, const Launch& where) {
    if (op.y.dtype() == DType::bf16) return sum_parts<std::uint16_t>(op, where);
    sum_parts<float>(op, where);
}

}  // namespace rm::cuda
