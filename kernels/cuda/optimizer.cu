#include <cmath>

#include "base/random.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/optimizer.cuh"
#include "kernels/scratch.h"

namespace rm::cuda {
namespace {

// The same on every device, so that the sum is, too. A part is worth a block's while from 8,192
// elements on.
std::int64_t num_parts(std::int64_t count) {
    constexpr std::int64_t kMost = 1024, kElements = 8192;
    return std::clamp<std::int64_t>(ceil_div(count, kElements), 1, kMost);
}

}  // namespace

Bytes workspace_bytes(const SumSquares& op, const MatMul&) {
    Scratch scratch;
    scratch.doubles(num_parts(op.x.num_elements()));
    return scratch.used();
}

namespace {

template <typename Gradient>
void square_parts(const SumSquares& op, double* parts, const Launch& where) {
    const std::int64_t count = op.x.num_elements();
    const simt::Extent shape = one_block_each(num_parts(count));
    const device::SumSquaresParams<Gradient> params{
        .x = op.x.as<Gradient>(), .parts = parts, .count = count};
    if (starts_are_aligned({op.x}))
        return launch<device::SumSquaresParts<Gradient, 8>>(where, shape, params);
    launch<device::SumSquaresParts<Gradient, 1>>(where, shape, params);
}

}  // namespace

void run(const SumSquares& op, const Launch& where) {
    const std::int64_t count = num_parts(op.x.num_elements());
    double* parts = Scratch(where.workspace).doubles(count);
    if (op.x.dtype() == DType::bf16) {
        square_parts<std::uint16_t>(op, parts, where);
    } else {
        square_parts<float>(op, parts, where);
    }
    launch<device::AddParts>(
        where, {},
        {.parts = parts, .num_parts = static_cast<int>(count), .sum = op.sum.as<double>()});
}

static_assert(device::Clip::kNumbers == kFp8EffectNumbers &&
              device::Clip::kNonfinite * sizeof(double) == offsetof(Fp8Effect, nonfinite));

void run(const ClipFactor& op, const Launch& where) {
    launch<device::Clip>(where, {},
                         {.sum = op.sum.as<double>(),
                          .effects = op.num_effects() > 0 ? op.effects.as<double>() : nullptr,
                          .num_effects = static_cast<int>(op.num_effects()),
                          .max_norm = op.max_norm,
                          .out = op.out.as<double>()});
}

namespace {

template <typename Gradient, typename Moment>
void update(const AdamW& op, const Launch& where) {
    const auto correction = [&](double beta) {
        return static_cast<float>(1 / (1 - std::pow(beta, static_cast<double>(op.step))));
    };
    launch_elements<device::AdamWUpdate<Gradient, Moment>::template Kernel, 4>(
        where, {op.weight, op.grad, op.m, op.v},
        {.weight = op.weight.as<float>(),
         .grad = op.grad.as<Gradient>(),
         .m = op.m.as<Moment>(),
         .v = op.v.as<Moment>(),
         .clip = op.clip.as<double>(),
         .count = op.weight.num_elements(),
         .learning_rate = static_cast<float>(op.learning_rate),
         .beta1 = static_cast<float>(op.beta1),
         .rest1 = static_cast<float>(1 - op.beta1),
         .beta2 = static_cast<float>(op.beta2),
         .rest2 = static_cast<float>(1 - op.beta2),
         .correction1 = correction(op.beta1),
         .correction2 = correction(op.beta2),
         .eps = static_cast<float>(op.eps),
         .weight_decay = static_cast<float>(op.weight_decay),
         .rounding_key = mix64(mix64(op.rounding_seed) ^ static_cast<std::uint64_t>(op.step)),
         .place = {.first_element = op.first_element,
                   .columns = op.columns,
                   .all_columns = op.all_columns,
                   .first_column = op.first_column}});
}

template <typename Gradient>
void run_adamw(const AdamW& op, const Launch& where) {
    if (op.m.dtype() == DType::bf16) return update<Gradient, std::uint16_t>(op, where);
    update<Gradient, float>(op, where);
}

}  // namespace

void run(const AdamW& op, const Launch& where) {
    if (op.grad.dtype() == DType::bf16) return run_adamw<std::uint16_t>(op, where);
    run_adamw<float>(op, where);
}

}  // namespace rm::cuda
