#include <algorithm>
#include <cmath>

#include "kernels/ref/ref_ops.h"

// Scales of blocks by the definition, a block at a time.
namespace rm::ref {
namespace {

struct Block {
    std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// Blocks of height x width numbers of a matrix (rows, columns), those at its ends smaller.
template <typename Visit>
void for_blocks(const TensorView& x, std::int64_t height, std::int64_t width, const Visit& visit) {
    const std::int64_t rows = x.dim(0), columns = x.dim(1);
    for (std::int64_t r = 0; r < rows; r += height) {
        for (std::int64_t c = 0; c < columns; c += width)
            visit(Block{r, std::min(height, rows - r), c, std::min(width, columns - c)});
    }
}

// visit(row, column, number) for each of a block.
template <typename Visit>
void for_numbers(const TensorView& x, const Block& block, const Visit& visit) {
    for (std::int64_t r = block.row; r < block.row + block.rows; ++r) {
        for (std::int64_t c = block.column; c < block.column + block.columns; ++c)
            visit(r, c, x.as<double>()[r * x.dim(1) + c]);
    }
}

float largest_of(const TensorView& x, const Block& block) {
    float largest = 0;
    for_numbers(x, block, [&](std::int64_t, std::int64_t, double number) {
        largest = std::max(largest, std::abs(static_cast<float>(number)));
    });
    return largest;
}

void write_rows(const Fp8Matrix& to, const TensorView& x) {
    for_blocks(x, 1, kFp8Block, [&](const Block& block) {
        const float factor = fp8_scale(to.format, largest_of(x, block));
        to.scale.as<float>()[block.row * to.scale.dim(1) + block.column / kFp8Block] = 1 / factor;
        for_numbers(x, block, [&](std::int64_t t, std::int64_t c, double number) {
            to.codes.as<std::uint8_t>()[t * to.codes.dim(1) + c] =
                to_fp8(to.format, static_cast<float>(number) * factor);
        });
    });
}

void write_columns(const Fp8Matrix& to, const TensorView& x) {
    auto* codes = to.codes.as<std::uint8_t>();
    std::fill_n(codes, to.codes.num_elements(), std::uint8_t{0});  // behind the last token
    for_blocks(x, kFp8Block, 1, [&](const Block& block) {
        const float factor = fp8_scale(to.format, largest_of(x, block));
        to.scale.as<float>()[block.column * to.scale.dim(1) + block.row / kFp8Block] = 1 / factor;
        for_numbers(x, block, [&](std::int64_t t, std::int64_t c, double number) {
            codes[c * to.codes.dim(1) + t] = to_fp8(to.format, static_cast<float>(number) * factor);
        });
    });
}

}  // namespace

void round_blocks_to_fp8(const TensorView& weight) {
    for_blocks(weight, kFp8Block, kFp8Block, [&](const Block& block) {
        const float factor = fp8_scale(Fp8::e4m3, largest_of(weight, block));
        for_numbers(weight, block, [&](std::int64_t n, std::int64_t k, double number) {
            const std::uint8_t code = to_fp8(Fp8::e4m3, static_cast<float>(number) * factor);
            weight.as<double>()[n * weight.dim(1) + k] =
                static_cast<double>(from_fp8(Fp8::e4m3, code)) / factor;
        });
    });
}

void quantize_blocks(const Quantize& op) {
    const float amax = largest_of(op.x, {0, op.x.dim(0), 0, op.x.dim(1)});
    *op.amax.as<float>() = amax;
    if (op.merges()) *op.largest.as<float>() = std::max(*op.largest.as<float>(), amax);
    if (!op.rows.empty()) write_rows(op.rows, op.x);
    if (!op.columns.empty()) write_columns(op.columns, op.x);
    if (op.is_observed()) add_effect(op);
}

}  // namespace rm::ref
