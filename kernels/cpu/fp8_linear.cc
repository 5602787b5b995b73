#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/fp8/loops.h"

// Operands in FP8 are widened to the compute type, which holds each of their numbers exactly, and
// multiplied as all others are.
namespace rm::cpu {
namespace {

constexpr std::int64_t kBlock = 64;  // a block is turned around in the first-level cache

// fn(first row, rows, first column, columns, worker) of each block of a matrix.
template <typename Fn>
void for_blocks(std::int64_t rows, std::int64_t columns, Context& context, const Fn& fn) {
    const std::int64_t across = (columns + kBlock - 1) / kBlock;
    const std::int64_t items = (rows + kBlock - 1) / kBlock * across;
    context.workers.for_items(items, [&](std::int64_t item, int worker) {
        const std::int64_t r = item / across * kBlock, c = item % across * kBlock;
        fn(r, std::min(kBlock, rows - r), c, std::min(kBlock, columns - c), worker);
    });
}

float largest_of(const TensorView& x, Context& context) {
    std::vector<float> largest(usize(context.workers.count()));
    with_rows("quantize", x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const auto block = [&](std::int64_t first, std::int64_t count, int worker) {
            float& most = largest[usize(worker)];
            most = std::max(most, loops.fp8.largest(x.as<E>() + first, count));
        };
        context.workers.for_blocks(x.num_elements(), kElements, block);
    });
    return *std::max_element(largest.begin(), largest.end());
}

// Rounds with one factor, and adds the effect if it is wanted.
template <typename E>
struct TensorCast {
    TensorCast(const Quantize& op, const simd::RowLoops<E>& loops, int workers)
        : loops(loops_for(op.format(), loops)), factor(1 / op.scale()), effects(op, workers) {}

    void row(const E* x, std::uint8_t* codes, std::int64_t count, int worker) {
        loops.round(x, factor, codes, count);
        effects.add(loops, x, codes, factor, count, worker);
    }

    const simd::Fp8FormatLoops<E>& loops;
    const float factor;
    WorkersEffects effects;
};

template <typename E>
void quantize_rows(const Quantize& op, TensorCast<E>& cast, Context& context) {
    const std::int64_t C = op.x.dim(1);
    context.workers.for_items(op.x.dim(0), [&](std::int64_t t, int worker) {
        cast.row(op.x.as<E>() + t * C, op.rows.codes.as<std::uint8_t>() + t * C, C, worker);
    });
}

// Zeros behind the last token, as far as `columns` goes.
template <typename E>
void quantize_turned(const Quantize& op, TensorCast<E>& cast, Context& context) {
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1), P = padded_tokens(T);
    const auto round = [&](std::int64_t t, std::int64_t rows, std::int64_t c, std::int64_t columns,
                           int worker) {
        std::array<std::uint8_t, kBlock * kBlock> codes;
        const std::int64_t padded = std::min(kBlock, P - t);
        for (std::int64_t r = 0; r < rows; ++r) {
            std::uint8_t* row = &codes[usize(r * kBlock)];
            cast.row(op.x.as<E>() + (t + r) * C + c, row, columns, worker);
            if (!op.rows.empty())
                std::copy_n(row, columns, op.rows.codes.as<std::uint8_t>() + (t + r) * C + c);
        }
        std::fill(codes.begin() + rows * kBlock, codes.begin() + padded * kBlock, std::uint8_t{0});
        turn_codes(codes.data(), kBlock, op.columns.codes.as<std::uint8_t>() + c * P + t, P, padded,
                   columns);
    };
    for_blocks(T, C, context, round);
}

TensorView compute_view(std::int64_t rows, std::int64_t columns, Scratch& scratch,
                        const Context& context) {
    const std::int64_t count = rows * columns;
    void* memory = context.compute == DType::f32 ? static_cast<void*>(scratch.floats(count))
                                                 : scratch.bf16s(count);
    return {memory, context.compute, {rows, columns}};
}

}  // namespace

void widen(const Fp8Matrix& matrix, const TensorView& to, Context& context) {
    if (matrix.blocks()) return widen_blocks(matrix, to, context);
    with_rows("fp8_linear", to, context, [&]<typename E>(const simd::RowLoops<E>& all) {
        const simd::Fp8FormatLoops<E>& loops = loops_for(matrix.format, all);
        const float scale = *matrix.scale.as<float>();
        const auto* codes = matrix.codes.as<std::uint8_t>();
        const auto block = [&](std::int64_t first, std::int64_t count, int) {
            loops.widen(codes + first, scale, to.as<E>() + first, count);
        };
        context.workers.for_blocks(to.num_elements(), kElements, block);
    });
}

namespace {

// to (P, C) of codes (C, P).
void widen_turned(const Fp8Matrix& matrix, const TensorView& to, Context& context) {
    if (matrix.blocks()) return widen_turned_blocks(matrix, to, context);
    with_rows("fp8_linear", to, context, [&]<typename E>(const simd::RowLoops<E>& all) {
        const simd::Fp8FormatLoops<E>& loops = loops_for(matrix.format, all);
        const float scale = *matrix.scale.as<float>();
        const std::int64_t P = to.dim(0), C = to.dim(1);
        const auto block = [&](std::int64_t t, std::int64_t rows, std::int64_t c,
                               std::int64_t columns, int) {
            std::array<std::uint8_t, kBlock * kBlock> turned;
            turn_codes(matrix.codes.as<std::uint8_t>() + c * P + t, P, turned.data(), kBlock,
                       columns, rows);
            for (std::int64_t r = 0; r < rows; ++r) {
                loops.widen(&turned[usize(r * kBlock)], scale, to.as<E>() + (t + r) * C + c,
                            columns);
            }
        };
        for_blocks(P, C, context, block);
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
    if (prepared.form() == WeightForm::fp8_blocks) return round_blocks(to, context);
    const float factor = fp8_scale(Fp8::e4m3, largest_of(to, context)), scale = 1 / factor;
    with_rows("prepare", to, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const auto block = [&](std::int64_t first, std::int64_t count, int) {
            std::array<std::uint8_t, kElements> codes;
            loops.fp8.e4m3.round(to.as<E>() + first, factor, codes.data(), count);
            loops.fp8.e4m3.widen(codes.data(), scale, to.as<E>() + first, count);
        };
        context.workers.for_blocks(to.num_elements(), kElements, block);
    });
}

void run(const Fp8Scales& op, Workspace, Context&) {
    const std::int64_t R = op.maxima.dim(0), S = op.maxima.dim(1);
    for (std::int64_t s = 0; s < S; ++s) {
        float largest = 0;
        for (std::int64_t r = 0; r < R; ++r)
            largest = std::max(largest, op.maxima.as<float>()[r * S + s]);
        op.scales.as<float>()[s] = 1 / fp8_scale(Fp8::e4m3, largest);
    }
}

void run(const Quantize& op, Workspace, Context& context) {
    if (op.blocks()) return quantize_blocks(op, context);
    const float amax = largest_of(op.x, context);
    *op.amax.as<float>() = amax;
    if (op.scaling == Scaling::current) op.set_scale(1 / fp8_scale(op.format(), amax));
    if (op.merges()) *op.largest.as<float>() = std::max(*op.largest.as<float>(), amax);
    with_rows("quantize", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        TensorCast<E> cast(op, loops, context.workers.count());
        op.columns.empty() ? quantize_rows(op, cast, context) : quantize_turned(op, cast, context);
        cast.effects.add_to(op);
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
