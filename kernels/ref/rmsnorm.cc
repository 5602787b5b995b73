#include <cmath>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void run(const RmsNormFwd& op, const Dims& dims) {
    const auto T = dims["T"], C = dims["C"];
    const double* weight = op.weight.as<double>();
    for (std::int64_t t = 0; t < T; ++t) {
        const double* x = op.x.as<double>() + t * C;
        double* y = op.y.as<double>() + t * C;
        double squares = 0;
        for (std::int64_t c = 0; c < C; ++c)
            squares += x[c] * x[c];
        const double rstd = 1 / std::sqrt(squares / static_cast<double>(C) + op.eps);
        op.rstd.as<double>()[t] = rstd;
        for (std::int64_t c = 0; c < C; ++c)
            y[c] = x[c] * rstd * weight[c];
    }
}

// With g = d_y * weight: d_x = rstd g - x rstd^3 mean(g x).
void run(const RmsNormBwd& op, const Dims& dims) {
    const auto T = dims["T"], C = dims["C"];
    const double* weight = op.weight.as<double>();
    double* d_weight = op.d_weight.as<double>();
    for (std::int64_t t = 0; t < T; ++t) {
        const double* d_y = op.d_y.as<double>() + t * C;
        const double* x = op.x.as<double>() + t * C;
        double* d_x = op.d_x.as<double>() + t * C;
        const double rstd = op.rstd.as<double>()[t];
        double dot = 0;
        for (std::int64_t c = 0; c < C; ++c)
            dot += d_y[c] * weight[c] * x[c];
        const double pull = dot / static_cast<double>(C) * rstd * rstd * rstd;
        for (std::int64_t c = 0; c < C; ++c) {
            d_x[c] += rstd * d_y[c] * weight[c] - x[c] * pull;
            d_weight[c] += d_y[c] * x[c] * rstd;
        }
    }
}

}  // namespace rm::ref
