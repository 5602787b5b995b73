#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/ops.h"
#include "kernels/round_fp8.h"

// Operands in FP8 are widened to the compute type, which holds each of their numbers exactly, and
// multiplied as all others are.
namespace rm::cpu {
namespace {

constexpr std::int64_t kBlock = 64;  // a block is turned around in the first-level cache

// fn(first row, rows, first column, columns) of each block of a matrix.
template <typename Fn>
void for_blocks(std::int64_t rows, std::int64_t columns, Context& context, const Fn& fn) {
    const std::int64_t across = (columns + kBlock - 1) / kBlock;
    context.workers.for_items((rows + kBlock - 1) / kBlock * across, [&](std::int64_t item, int) {
        const std::int64_t r = item / across * kBlock, c = item % across * kBlock;
        fn(r, std::min(kBlock, rows - r), c, std::min(kBlock, columns - c));
    });
}

float largest_of(const TensorView& x, Context& context) {
    std::vector<std::uint32_t> largest(usize(context.workers.count()));
    with_rows("quantize", x, context, [&]<typename E>(const simd::RowLoops<E>&) {
        const auto block = [&](std::int64_t first, std::int64_t count, int worker) {
            std::uint32_t most = largest[usize(worker)];
            for (std::int64_t i = first; i < first + count; ++i)
                most = std::max(most, size_bits(value_of(x.as<E>()[i])));
            largest[usize(worker)] = most;
        };
        context.workers.for_blocks(x.num_elements(), kElements, block);
    });
    return std::bit_cast<float>(*std::max_element(largest.begin(), largest.end()));
}

// visit.operator()<format>()
template <typename Visit>
void with_format(Fp8 format, const Visit& visit) {
    if (format == Fp8::e4m3) return visit.template operator()<Fp8::e4m3>();
    visit.template operator()<Fp8::e5m2>();
}

// Codes of a block of x (T, C), and where they go.
struct QuantizedBlock {
    std::array<std::uint8_t, kBlock * kBlock> codes;

    template <Fp8 format, typename E>
    void fill(const E* x, std::int64_t stride, std::int64_t rows, std::int64_t columns,
              float factor) {
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < columns; ++c)
                codes[usize(r * kBlock + c)] =
                    round_fp8<format>(value_of(x[r * stride + c]) * factor);
        }
        std::fill(codes.begin() + rows * kBlock, codes.end(), std::uint8_t{0});
    }
    void store_rows(std::uint8_t* to, std::int64_t stride, std::int64_t rows,
                    std::int64_t columns) const {
        for (std::int64_t r = 0; r < rows; ++r)
            std::copy_n(codes.begin() + r * kBlock, columns, to + r * stride);
    }
    void store_columns(std::uint8_t* to, std::int64_t stride, std::int64_t rows,
                       std::int64_t columns) const {
        for (std::int64_t c = 0; c < columns; ++c) {
            for (std::int64_t r = 0; r < rows; ++r)
                to[c * stride + r] = codes[usize(r * kBlock + c)];
        }
    }
};

template <Fp8 format, typename E>
void quantize(const Quantize& op, float factor, Context& context) {
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1), P = padded_tokens(T);
    for_blocks(T, C, context,
               [&](std::int64_t t, std::int64_t rows, std::int64_t c, std::int64_t columns) {
                   QuantizedBlock block;
                   block.fill<format>(op.x.as<E>() + t * C + c, C, rows, columns, factor);
                   if (!op.rows.empty())
                       block.store_rows(op.rows.codes.as<std::uint8_t>() + t * C + c, C, rows,
                                        columns);
                   if (!op.columns.empty()) {
                       block.store_columns(op.columns.codes.as<std::uint8_t>() + c * P + t, P,
                                           std::min(kBlock, P - t), columns);
                   }
               });
}

// The numbers of all codes, in the compute type.
template <typename E>
std::array<E, 256> scaled_numbers(const Fp8Matrix& matrix) {
    const std::array<float, 256>& numbers = numbers_of(matrix.format);
    const float scale = *matrix.scale.as<float>();
    std::array<E, 256> scaled;
    for (std::size_t code = 0; code < scaled.size(); ++code)
        set(scaled[code], numbers[code] * scale);
    return scaled;
}

TensorView compute_view(std::int64_t rows, std::int64_t columns, Scratch& scratch,
                        const Context& context) {
    const std::int64_t count = rows * columns;
    void* memory = context.compute == DType::f32 ? static_cast<void*>(scratch.floats(count))
                                                 : scratch.bf16s(count);
    return {memory, context.compute, {rows, columns}};
}

// to (rows, columns), as the codes are.
void widen(const Fp8Matrix& matrix, const TensorView& to, Context& context) {
    with_rows("fp8_linear", to, context, [&]<typename E>(const simd::RowLoops<E>&) {
        const std::array<E, 256> numbers = scaled_numbers<E>(matrix);
        const auto* codes = matrix.codes.as<std::uint8_t>();
        const auto block = [&](std::int64_t first, std::int64_t count, int) {
            for (std::int64_t i = first; i < first + count; ++i)
                to.as<E>()[i] = numbers[codes[i]];
        };
        context.workers.for_blocks(to.num_elements(), kElements, block);
    });
}

// to (P, C) of codes (C, P).
void widen_turned(const Fp8Matrix& matrix, const TensorView& to, Context& context) {
    with_rows("fp8_linear", to, context, [&]<typename E>(const simd::RowLoops<E>&) {
        const std::array<E, 256> numbers = scaled_numbers<E>(matrix);
        const std::int64_t P = to.dim(0), C = to.dim(1);
        for_blocks(P, C, context,
                   [&](std::int64_t t, std::int64_t rows, std::int64_t c, std::int64_t columns) {
                       const auto* codes = matrix.codes.as<std::uint8_t>() + c * P + t;
                       E* y = to.as<E>() + t * C + c;
                       for (std::int64_t i = 0; i < columns; ++i) {
                           for (std::int64_t r = 0; r < rows; ++r)
                               y[r * C + i] = numbers[codes[i * P + r]];
                       }
                   });
    });
}

// A product of `codes`, widened, with a packed matrix.
struct WidenedProduct {
    WidenedProduct(const Fp8Matrix& codes, const PackedMatrix& matrix, Scratch& scratch,
                   const Context& context)
        : codes(codes),
          x(compute_view(codes.codes.dim(0), codes.codes.dim(1), scratch, context)),
          product(matrix, context.workers, scratch) {}
    void run(const TensorView& y, Into into, Context& context) const {
        widen(codes, x, context);
        product.run(x, y, into, context);
    }

    const Fp8Matrix& codes;
    TensorView x;
    Product product;
};
WidenedProduct product_of(const Fp8LinearFwd& op, Scratch& scratch, const Context& context) {
    return {op.x, weight_of(op.weight).forward(), scratch, context};
}
WidenedProduct product_of(const Fp8LinearBwdInput& op, Scratch& scratch, const Context& context) {
    return {op.d_y, weight_of(op.weight).backward(), scratch, context};
}

struct WidenedGradient {
    WidenedGradient(const Fp8LinearBwdWeight& op, Scratch& scratch, const Context& context)
        : d_y(compute_view(op.d_y.codes.dim(1), op.d_y.codes.dim(0), scratch, context)),
          x(compute_view(op.x.codes.dim(1), op.x.codes.dim(0), scratch, context)),
          product(context, scratch) {}
    TensorView d_y, x;
    WeightGradient product;
};

}  // namespace

void round_weight(const TensorView& weight, const CpuPreparedWeight& prepared, Context& context) {
    const TensorView& to = prepared.rounded();
    run(Copy{.from = weight, .to = to}, {}, context);
    const float factor = fp8_scale(Fp8::e4m3, largest_of(to, context)), scale = 1 / factor;
    with_rows("prepare", to, context, [&]<typename E>(const simd::RowLoops<E>&) {
        const auto block = [&](std::int64_t first, std::int64_t count, int) {
            for (E* x = to.as<E>() + first; x < to.as<E>() + first + count; ++x) {
                const std::uint8_t code = round_fp8<Fp8::e4m3>(value_of(*x) * factor);
                set(*x, kFp8Numbers<Fp8::e4m3>[code] * scale);
            }
        };
        context.workers.for_blocks(to.num_elements(), kElements, block);
    });
}

void run(const Quantize& op, Workspace, Context& context) {
    const float amax = largest_of(op.x, context);
    *op.amax.as<float>() = amax;
    if (op.scaling == Scaling::current) op.set_scale(1 / fp8_scale(op.format(), amax));
    const float factor = 1 / op.scale();
    if (op.merges()) *op.largest.as<float>() = std::max(*op.largest.as<float>(), amax);
    with_rows("quantize", op.x, context, [&]<typename E>(const simd::RowLoops<E>&) {
        with_format(op.format(), [&]<Fp8 format>() { quantize<format, E>(op, factor, context); });
    });
}

Bytes scratch_bytes(const Fp8LinearFwd& op, const Context& context) {
    Scratch scratch;
    product_of(op, scratch, context);
    return scratch.used();
}
void run(const Fp8LinearFwd& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    product_of(op, scratch, context).run(op.y, op.into, context);
}

Bytes scratch_bytes(const Fp8LinearBwdInput& op, const Context& context) {
    Scratch scratch;
    product_of(op, scratch, context);
    return scratch.used();
}
void run(const Fp8LinearBwdInput& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    product_of(op, scratch, context).run(op.d_x, op.into, context);
}

Bytes scratch_bytes(const Fp8LinearBwdWeight& op, const Context& context) {
    Scratch scratch;
    const WidenedGradient gradient(op, scratch, context);
    return scratch.used();
}
void run(const Fp8LinearBwdWeight& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const WidenedGradient gradient(op, scratch, context);
    widen_turned(op.d_y, gradient.d_y, context);
    widen_turned(op.x, gradient.x, context);
    gradient.product.run(gradient.d_y, gradient.x, op.d_weight, context);
}

}  // namespace rm::cpu
