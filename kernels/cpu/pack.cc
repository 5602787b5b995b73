#include <algorithm>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/ops.h"
#include "kernels/pack_row.h"

namespace rm::cpu {
namespace {

// fn(row) for all T rows.
template <typename Fn>
void for_rows(std::int64_t T, std::int64_t C, Context& context, const Fn& fn) {
    const std::int64_t block = std::max<std::int64_t>(1, kElements / C);
    context.workers.for_blocks(T, block, [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t t = first; t < first + count; ++t)
            fn(t);
    });
}

}  // namespace

void run(const PackRows& op, Workspace, Context& context) {
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1), W = op.packed.dim(1);
    auto* packed = op.packed.as<std::int32_t>();
    with_rows("pack_rows", op.x, context, [&]<typename E>(const simd::RowLoops<E>&) {
        for_rows(T, C, context, [&](std::int64_t t) {
            const E* x = op.x.as<E>() + t * C;
            pack_row(
                C, [x](std::int64_t c) { return value_of(x[c]); }, packed + t * W);
        });
    });
}

void run(const UnpackRows& op, Workspace, Context& context) {
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1), W = op.packed.dim(1);
    const auto* packed = op.packed.as<std::int32_t>();
    with_rows("unpack_rows", op.x, context, [&]<typename E>(const simd::RowLoops<E>&) {
        for_rows(T, C, context, [&](std::int64_t t) {
            E* x = op.x.as<E>() + t * C;
            unpack_row(C, packed + t * W, [x](std::int64_t c, float number) { set(x[c], number); });
        });
    });
}

}  // namespace rm::cpu
