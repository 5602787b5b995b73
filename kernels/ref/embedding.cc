#include <algorithm>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {
namespace {

std::int64_t checked_token(const TensorView& tokens, std::int64_t t, std::int64_t V) {
    const std::int64_t token = tokens.as<std::int32_t>()[t];
    RM_CHECK(token >= 0 && token < V, "token {} at {} is outside the vocabulary of {}", token, t,
             V);
    return token;
}

}  // namespace

void embedding_fwd(const EmbeddingFwd& op) {
    Dims dims("embedding_fwd");
    dims.bind<"T">(op.tokens, "tokens").bind<"V C">(op.table, "table").bind<"T C">(op.x, "x");
    const auto T = dims["T"], C = dims["C"], V = dims["V"];
    for (std::int64_t t = 0; t < T; ++t) {
        const double* row = op.table.as<double>() + checked_token(op.tokens, t, V) * C;
        std::copy(row, row + C, op.x.as<double>() + t * C);
    }
}

void embedding_bwd(const EmbeddingBwd& op) {
    Dims dims("embedding_bwd");
    dims.bind<"T">(op.tokens, "tokens").bind<"T C">(op.d_x, "d_x");
    dims.bind<"V C">(op.d_table, "d_table");
    const auto T = dims["T"], C = dims["C"], V = dims["V"];
    for (std::int64_t t = 0; t < T; ++t) {
        const double* d_x = op.d_x.as<double>() + t * C;
        double* d_row = op.d_table.as<double>() + checked_token(op.tokens, t, V) * C;
        for (std::int64_t c = 0; c < C; ++c)
            d_row[c] += d_x[c];
    }
}

}  // namespace rm::ref
