#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/ops.h"

// Tensors cut over ranks: how parts are moved and summed.
namespace rm::cpu {
namespace {

// Sums of a row on their way, in f32 and in the cache: begun with one row, added to, and rounded
// once.
class RowSum {
public:
    static constexpr std::int64_t kMost = 1024;

    template <typename E>
    void begin(const E* x, std::int64_t count, const simd::RowLoops<E>& loops) {
        loops.widen(x, sum_.data(), count);
    }
    template <typename E>
    void add(const E* x, std::int64_t count, const simd::RowLoops<E>& loops) {
        loops.accumulate(x, sum_.data(), count);
    }
    template <typename E>
    void end(E* y, std::int64_t count, const simd::RowLoops<E>& loops) const {
        loops.round(sum_.data(), y, count);
    }

private:
    std::array<float, kMost> sum_;
};

// fn(first, count) for pieces of a row that a RowSum holds.
template <typename Fn>
void for_pieces(std::int64_t size, const Fn& fn) {
    for (std::int64_t first = 0; first < size; first += RowSum::kMost)
        fn(first, std::min(RowSum::kMost, size - first));
}

template <typename From, typename To>
struct RowLoopsOfTwo {
    const simd::RowLoops<From>& from;
    const simd::RowLoops<To>& to;
};

template <typename From, typename To>
void move_row(const From* from, To* to, std::int64_t size, Into into,
              const RowLoopsOfTwo<From, To>& loops) {
    for_pieces(size, [&](std::int64_t first, std::int64_t count) {
        RowSum sum;
        if (into == Into::add) {
            sum.begin(to + first, count, loops.to);
            sum.add(from + first, count, loops.from);
        } else {
            sum.begin(from + first, count, loops.from);
        }
        sum.end(to + first, count, loops.to);
    });
}

// fn(from, to), addresses of the heads of a token, for each.
template <typename From, typename To, typename Fn>
void for_tokens(const CopyHeads& op, Context& context, const Fn& fn) {
    const std::int64_t T = op.from.dim(0), D = op.from.dim(2), size = op.count * D;
    const std::int64_t from_step = op.from.dim(1) * D, to_step = op.to.dim(1) * D;
    const From* from = op.from.as<From>() + op.from_first * D;
    To* to = op.to.as<To>() + op.to_first * D;
    const std::int64_t block =
        std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, size));
    context.workers.for_blocks(T, block, [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t t = first; t < first + count; ++t)
            fn(from + t * from_step, to + t * to_step);
    });
}

// Bits that are only moved stay what they are.
void move_bits(const CopyHeads& op, Context& context) {
    with_rows("copy_heads", op.from, context, [&]<typename E>(const simd::RowLoops<E>&) {
        const auto bytes = usize(op.count * op.from.dim(2)) * sizeof(E);
        for_tokens<E, E>(op, context, [&](const E* from, E* to) { std::memcpy(to, from, bytes); });
    });
}

}  // namespace

void run(const CopyHeads& op, Workspace, Context& context) {
    if (op.into == Into::overwrite && op.from.dtype() == op.to.dtype())
        return move_bits(op, context);
    with_rows("copy_heads", op.from, context, [&]<typename From>(const auto& from_loops) {
        with_rows("copy_heads", op.to, context, [&]<typename To>(const auto& to_loops) {
            const RowLoopsOfTwo<From, To> loops{from_loops, to_loops};
            for_tokens<From, To>(op, context, [&](const From* from, To* to) {
                move_row(from, to, op.count * op.from.dim(2), op.into, loops);
            });
        });
    });
}

void run(const SumParts& op, Workspace, Context& context) {
    const std::int64_t size = op.y.num_elements(), G = op.parts.dim(0);
    with_rows("sum_parts", op.y, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E* parts = op.parts.as<E>();
        E* y = op.y.as<E>();
        const auto block = [&](std::int64_t first, std::int64_t count, int) {
            RowSum sum;
            const bool adds = op.into == Into::add;
            sum.begin(adds ? y + first : parts + first, count, loops);
            for (std::int64_t g = adds ? 0 : 1; g < G; ++g)
                sum.add(parts + g * size + first, count, loops);
            sum.end(y + first, count, loops);
        };
        context.workers.for_blocks(size, RowSum::kMost, block);
    });
}

}  // namespace rm::cpu
