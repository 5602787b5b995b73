#include <algorithm>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void run(const EmbeddingFwd& op, const Dims& dims) {
    const auto T = dims["T"], C = dims["C"];
    const VocabularyPart part(op.rows, dims["V"]);
    for (std::int64_t t = 0; t < T; ++t) {
        const std::int64_t row = part.row_of(op.tokens.as<std::int32_t>()[t], "token", t);
        double* x = op.x.as<double>() + t * C;
        std::fill(x, x + C, 0.0);
        if (row == VocabularyPart::kElsewhere) continue;
        const double* from = op.table.as<double>() + row * C;
        std::copy(from, from + C, x);
    }
}

void run(const EmbeddingBwd& op, const Dims& dims) {
    const auto T = dims["T"], C = dims["C"];
    const VocabularyPart part(op.rows, dims["V"]);
    for (std::int64_t t = 0; t < T; ++t) {
        const std::int64_t row = part.row_of(op.tokens.as<std::int32_t>()[t], "token", t);
        if (row == VocabularyPart::kElsewhere) continue;
        const double* d_x = op.d_x.as<double>() + t * C;
        double* d_row = op.d_table.as<double>() + row * C;
        for (std::int64_t c = 0; c < C; ++c)
            d_row[c] += d_x[c];
    }
}

}  // namespace rm::ref
