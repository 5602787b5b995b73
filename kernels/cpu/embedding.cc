#include "kernels/cpu/ops.h"

namespace rm::cpu {
namespace {

std::int64_t checked_token(const std::int32_t* tokens, std::int64_t t, std::int64_t V) {
    const std::int64_t token = tokens[t];
    RM_CHECK(token >= 0 && token < V, "token {} at {} is outside the vocabulary of {}", token, t,
             V);
    return token;
}

}  // namespace

void run(const EmbeddingFwd& op, Context& context) {
    const auto* tokens = op.tokens.as<std::int32_t>();
    const auto* table = op.table.as<float>();
    const std::int64_t T = op.x.dim(0), C = op.x.dim(1), V = op.table.dim(0);
    with_rows("embedding_fwd", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        E* x = op.x.as<E>();
        context.workers.for_blocks(T, kTile, [&](std::int64_t first, std::int64_t count, int) {
            for (std::int64_t t = first; t < first + count; ++t)
                loops.round(table + checked_token(tokens, t, V) * C, x + t * C, C);
        });
    });
}

// Work is cut along the columns: a row that several tokens share is summed by one thread in token
// order.
void run(const EmbeddingBwd& op, Context& context) {
    constexpr std::int64_t kColumns = 128;
    const auto* tokens = op.tokens.as<std::int32_t>();
    auto* d_table = op.d_table.as<float>();
    const std::int64_t T = op.d_x.dim(0), C = op.d_x.dim(1), V = op.d_table.dim(0);
    with_rows("embedding_bwd", op.d_x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        const E* d_x = op.d_x.as<E>();
        context.workers.for_blocks(C, kColumns, [&](std::int64_t first, std::int64_t count, int) {
            for (std::int64_t t = 0; t < T; ++t) {
                const std::int64_t token = checked_token(tokens, t, V);
                loops.accumulate(d_x + t * C + first, d_table + token * C + first, count);
            }
        });
    });
}

}  // namespace rm::cpu
