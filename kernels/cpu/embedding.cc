#include <algorithm>
#include <cstring>

#include "kernels/cpu/ops.h"

namespace rm::cpu {
namespace {

template <typename E>
void copy_row(const E* row, E* x, std::int64_t C, const simd::RowLoops<E>&) {
    std::memcpy(x, row, usize(C) * sizeof(E));
}
void copy_row(const float* row, Bf16* x, std::int64_t C, const simd::RowLoops<Bf16>& loops) {
    loops.round(row, x, C);
}

template <typename Row, typename E>
void embed(const EmbeddingFwd& op, const simd::RowLoops<E>& loops, Context& context) {
    const auto* tokens = op.tokens.as<std::int32_t>();
    const Row* table = op.table.as<Row>();
    E* x = op.x.as<E>();
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1);
    const VocabularyPart part(op.rows, op.table.dim(0));
    context.workers.for_blocks(T, kTile, [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t t = first; t < first + count; ++t) {
            const std::int64_t row = part.row_of(tokens[t], "token", t);
            if (row == VocabularyPart::kElsewhere) {
                std::fill_n(x + t * C, C, E(0));
            } else {
                copy_row(table + row * C, x + t * C, C, loops);
            }
        }
    });
}

}  // namespace

void run(const EmbeddingFwd& op, Workspace, Context& context) {
    with_rows("embedding_fwd", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        if (op.table.dtype() == op.x.dtype()) return embed<E>(op, loops, context);
        embed<float>(op, loops, context);
    });
}

// Work is cut along the columns: a row that several tokens share is summed by one thread in token
// order.
void run(const EmbeddingBwd& op, Workspace, Context& context) {
    constexpr std::int64_t kColumns = 128;
    const auto* tokens = op.tokens.as<std::int32_t>();
    auto* d_table = op.d_table.as<float>();
    const std::int64_t T = op.d_x.dim(0), C = op.d_x.dim(1);
    const VocabularyPart part(op.rows, op.d_table.dim(0));
    with_rows("embedding_bwd", op.d_x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E* d_x = op.d_x.as<E>();
        context.workers.for_blocks(C, kColumns, [&](std::int64_t first, std::int64_t count, int) {
            for (std::int64_t t = 0; t < T; ++t) {
                const std::int64_t row = part.row_of(tokens[t], "token", t);
                if (row == VocabularyPart::kElsewhere) continue;
                loops.accumulate(d_x + t * C + first, d_table + row * C + first, count);
            }
        });
    });
}

}  // namespace rm::cpu
