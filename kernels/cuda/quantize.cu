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

void check_target(const Fp8Target& to, std::int64_t T, std::int64_t C) {
    const std::int64_t length = ceil_div(T, 16) * 16;
    const auto fits = [](const Fp8Codes& codes, std::int64_t rows, std::int64_t columns) {
        const bool aligned = reinterpret_cast<std::uintptr_t>(codes.codes) % 16 == 0;
        return codes.codes == nullptr ||
               (codes.rows == rows && codes.columns == columns && aligned);
    };
    RM_CHECK(fits(to.codes, T, C), "codes of ({}, {}) for a tensor ({}, {})", to.codes.rows,
             to.codes.columns, T, C);
    RM_CHECK(fits(to.transposed, C, length),
             "transposed codes of ({}, {}), a tensor ({}, {}) needs ({}, {})", to.transposed.rows,
             to.transposed.columns, T, C, C, length);
}

template <typename Format, typename Source>
void launch_cast(const Source& source, const TensorView& x, const TensorView& scale,
                 const Fp8Target& to, const Launch& where) {
    using Kernel = device::Fp8CastOf<Format, Source>;
    const std::int64_t T = x.dim(0), C = x.dim(1);
    check_target(to, T, C);
    const simt::Extent grid{.x = static_cast<int>(ceil_div(T, Kernel::kTile)),
                            .y = static_cast<int>(ceil_div(C, Kernel::kTile))};
    launch<Kernel>(where, grid,
                   {.source = source,
                    .scale = scale.as<float>(),
                    .codes = to.codes.codes,
                    .transposed = to.transposed.codes,
                    .amax = to.amax.as<float>(),
                    .T = T,
                    .C = C});
}

template <typename Source>
void launch_cast(Fp8 format, const Source& source, const Fp8Cast& op, const Launch& where) {
    switch (format) {
        case Fp8::e4m3:
            return launch_cast<E4m3>(source, op.x, op.scale, op.to, where);
        case Fp8::e5m2:
            return launch_cast<E5m2>(source, op.x, op.scale, op.to, where);
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
                                .count = op.amax.num_elements(),
                                .largest = largest(op.format)});
}

void run(const Fp8Cast& op, const Launch& where) {
    check_rows(op.x);
    if (op.x.dtype() == DType::f32)
        return launch_cast(op.format, source_of<float>(op.x), op, where);
    launch_cast(op.format, source_of<std::uint16_t>(op.x), op, where);
}

void run(const Fp8CastRmsNorm& op, const Launch& where) {
    check_rows(op.x);
    const RmsNormSource source{op.x.as<std::uint16_t>(), op.weight.as<float>(), op.rstd.as<float>(),
                               op.x.dim(1)};
    launch_cast<E4m3>(source, op.x, op.scale, op.to, where);
}

void run(const Fp8CastSwiglu& op, const Launch& where) {
    check_rows(op.gate);
    check_rows(op.up);
    const SwigluSource source{op.gate.as<std::uint16_t>(), op.up.as<std::uint16_t>(),
                              op.gate.dim(1)};
    launch_cast<E4m3>(source, op.gate, op.scale, op.to, where);
}

}  // namespace rm::cuda
