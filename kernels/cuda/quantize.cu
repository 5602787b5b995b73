#include "kernels/cuda/fp8/blocks.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/cuda/quantize.h"
#include "kernels/device/quantize.cuh"

namespace rm::cuda {
namespace {

using device::E4m3;
using device::E5m2;
using device::RmsNormSource;
using device::SwigluSource;
using device::TensorSource;

void check_rows(const TensorView& x) {
    RM_CHECK(x.rank() == 2 && x.dim(1) % 16 == 0 && starts_are_aligned({x}),
             "FP8 takes rows of a multiple of 16 columns from aligned memory, not {}",
             shape_string(x));
}

template <typename T>
TensorSource<T> source_of(const TensorView& x) {
    return {x.as<T>(), x.dim(1)};
}

template <typename Source>
void launch_amax(const Source& source, const TensorView& x, const TensorView& amax,
                 const Launch& where) {
    using Kernel = device::Fp8AmaxOf<Source>;
    const std::int64_t T = x.dim(0);
    launch<Kernel>(where, pick_grid<Kernel>(T, 1, where.profile),
                   {.source = source, .amax = amax.as<float>(), .T = T, .C = x.dim(1)});
}

const Fp8Matrix& either(const Fp8Target& to) {
    return to.rows.empty() ? to.columns : to.rows;
}

std::uint8_t* codes_of(const Fp8Matrix& matrix, std::int64_t rows, std::int64_t columns) {
    if (matrix.empty()) return nullptr;
    const TensorView& codes = matrix.codes;
    RM_CHECK(codes.dim(0) == rows && codes.dim(1) == columns && starts_are_aligned({codes}),
             "codes {}; ({}, {}) at a multiple of 16 bytes are needed", shape_string(codes), rows,
             columns);
    return codes.as<std::uint8_t>();
}

template <typename Format, typename Source>
void launch_cast(const Source& source, const TensorView& x, const Fp8Target& to,
                 const Launch& where) {
    using Kernel = device::Fp8CastOf<Format, Source>;
    const std::int64_t T = x.dim(0), C = x.dim(1);
    const simt::Extent grid{.x = static_cast<int>(ceil_div(T, Kernel::kTile)),
                            .y = static_cast<int>(ceil_div(C, Kernel::kTile))};
    launch<Kernel>(where, grid,
                   {.source = source,
                    .scale = either(to).scale.as<float>(),
                    .codes = codes_of(to.rows, T, C),
                    .transposed = codes_of(to.columns, C, padded_tokens(T)),
                    .amax = to.amax.as<float>(),
                    .known = to.largest.empty() ? nullptr : to.largest.as<float>(),
                    .effect = to.effect.empty() ? nullptr : to.effect.as<double>(),
                    .T = T,
                    .C = C});
}

template <typename Source>
void launch_cast(const Source& source, const Fp8Cast& op, const Launch& where) {
    switch (either(op.to).format) {
        case Fp8::e4m3:
            return launch_cast<E4m3>(source, op.x, op.to, where);
        case Fp8::e5m2:
            return launch_cast<E5m2>(source, op.x, op.to, where);
    }
}

}  // namespace

void run(const Fp8Amax& op, const Launch& where) {
    check_rows(op.x);
    if (op.x.dtype() == DType::f32)
        return launch_amax(source_of<float>(op.x), op.x, op.amax, where);
    launch_amax(source_of<std::uint16_t>(op.x), op.x, op.amax, where);
}

void run(const Fp8AmaxRmsNorm& op, const Launch& where) {
    check_rows(op.x);
    using Kernel = device::Fp8AmaxOfRmsNorm;
    const std::int64_t T = op.x.dim(0);
    const auto rstd = op.rstd.as<float>();
    launch<Kernel>(where, pick_grid<Kernel>(T, 1, where.profile),
                   {.source = {op.x.as<std::uint16_t>(), op.weight.as<float>(), rstd, op.x.dim(1)},
                    .rstd = rstd,
                    .amax = op.amax.as<float>(),
                    .T = T,
                    .eps = static_cast<float>(op.eps)});
}

void run(const Fp8AmaxSwiglu& op, const Launch& where) {
    check_rows(op.gate);
    check_rows(op.up);
    const SwigluSource source{op.gate.as<std::uint16_t>(), op.up.as<std::uint16_t>(),
                              op.gate.dim(1)};
    launch_amax(source, op.gate, op.amax, where);
}

void run(const Fp8Scale& op, const Launch& where) {
    launch<device::Fp8ScaleOf>(where, {},
                               {.amax = op.amax.as<float>(),
                                .scale = op.scale.as<float>(),
                                .other = op.other.empty() ? nullptr : op.other.as<float>(),
                                .count = op.amax.num_elements(),
                                .largest = largest(op.format)});
}

void run(const Fp8Cast& op, const Launch& where) {
    check_rows(op.x);
    if (op.x.dtype() == DType::f32) return launch_cast(source_of<float>(op.x), op, where);
    launch_cast(source_of<std::uint16_t>(op.x), op, where);
}

void run(const Fp8TurnCodes& op, const Launch& where) {
    const TensorView& codes = op.from.codes;
    check_rows(codes);
    const device::CodesSource source{codes.as<std::uint8_t>(), op.from.scale.as<float>(),
                                     codes.dim(1)};
    launch_cast<E4m3>(source, codes, op.to, where);
}

void run(const Fp8Scales& op, const Launch& where) {
    using Kernel = device::Fp8ScalesOfParts;
    const std::int64_t S = op.scales.num_elements();
    launch<Kernel>(where, one_block_each(ceil_div(S, Kernel::kThreads)),
                   {.maxima = op.maxima.as<float>(),
                    .scales = op.scales.as<float>(),
                    .R = op.maxima.dim(0),
                    .S = S});
}

void run(const Fp8CastRmsNorm& op, const Launch& where) {
    check_rows(op.x);
    const RmsNormSource source{op.x.as<std::uint16_t>(), op.weight.as<float>(), op.rstd.as<float>(),
                               op.x.dim(1)};
    launch_cast<E4m3>(source, op.x, op.to, where);
}

void run(const Fp8CastSwiglu& op, const Launch& where) {
    check_rows(op.gate);
    check_rows(op.up);
    const SwigluSource source{op.gate.as<std::uint16_t>(), op.up.as<std::uint16_t>(),
                              op.gate.dim(1)};
    launch_cast<E4m3>(source, op.gate, op.to, where);
}

void run(const Quantize& op, const Launch& where) {
    if (op.blocks()) return quantize_blocks(op, where);
    const Fp8Target to{op.rows, op.columns, op.amax, op.largest, op.effect};
    run(FillZero{op.amax}, where);
    if (op.scaling == Scaling::current) {
        const bool both = !op.rows.empty() && !op.columns.empty();
        run(Fp8Amax{.x = op.x, .amax = op.amax}, where);
        run(Fp8Scale{.amax = op.amax,
                     .format = op.format(),
                     .scale = either(to).scale,
                     .other = both ? op.columns.scale : TensorView()},
            where);
    }
    run(Fp8Cast{.x = op.x, .to = to}, where);
}

}  // namespace rm::cuda
