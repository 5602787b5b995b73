#include "kernels/cuda/fp8/blocks.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/fp8/block_cast.cuh"

namespace rm::cuda {
namespace {

using device::E4m3;
using device::E5m2;
using device::Fp8Blocks;
using device::TensorSource;

std::uint8_t* codes_in(const Fp8Matrix& matrix) {
    return matrix.empty() ? nullptr : matrix.codes.as<std::uint8_t>();
}
float* scales_in(const Fp8Matrix& matrix) {
    return matrix.empty() ? nullptr : matrix.scale.as<float>();
}

// `amax` and `largest` may be empty.
template <typename Format, typename T, Fp8Blocks kBlocks>
void launch_block_cast(const TensorView& x, const Fp8Matrix& rows, const Fp8Matrix& columns,
                       const TensorView& amax, const TensorView& largest, const TensorView& effect,
                       const Launch& where) {
    using Kernel = device::Fp8BlockCastOf<Format, TensorSource<T>, kBlocks>;
    RM_CHECK(starts_are_aligned({x, rows.codes, columns.codes}),
             "FP8 is rounded from and to multiples of 16 bytes");
    const std::int64_t rows_of_x = x.dim(0), C = x.dim(1);
    const simt::Extent grid{.x = static_cast<int>(fp8_blocks(rows_of_x)),
                            .y = static_cast<int>(fp8_blocks(C))};
    const auto scalar = [](const TensorView& to) {
        return to.rank() == 0 ? nullptr : to.as<float>();
    };
    launch<Kernel>(where, grid,
                   {.source = {x.as<T>(), C},
                    .codes = codes_in(rows),
                    .turned = codes_in(columns),
                    .scales = scales_in(rows),
                    .turned_scales = scales_in(columns),
                    .amax = scalar(amax),
                    .known = scalar(largest),
                    .effect = effect.rank() == 0 ? nullptr : effect.as<double>(),
                    .T = rows_of_x,
                    .C = C});
}

}  // namespace

void round_weight_blocks(const TensorView& weight, const Fp8Matrix& plain, const Fp8Matrix& turned,
                         const Launch& where) {
    constexpr Fp8Blocks kSquares = Fp8Blocks::squares;
    if (weight.dtype() == DType::f32)
        return launch_block_cast<E4m3, float, kSquares>(weight, plain, turned, {}, {}, {}, where);
    launch_block_cast<E4m3, std::uint16_t, kSquares>(weight, plain, turned, {}, {}, {}, where);
}

void quantize_blocks(const Quantize& op, const Launch& where) {
    constexpr Fp8Blocks kLines = Fp8Blocks::lines;
    run(FillZero{op.amax}, where);
    switch (op.format()) {
        case Fp8::e4m3:
            return launch_block_cast<E4m3, std::uint16_t, kLines>(
                op.x, op.rows, op.columns, op.amax, op.largest, op.effect, where);
        case Fp8::e5m2:
            return launch_block_cast<E5m2, std::uint16_t, kLines>(
                op.x, op.rows, op.columns, op.amax, op.largest, op.effect, where);
    }
}

}  // namespace rm::cuda
