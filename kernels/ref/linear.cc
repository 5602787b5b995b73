#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void run(const LinearFwd& op, const Dims& dims) {
    const TensorView& weight = weight_of(op.weight);
    const auto T = dims["T"], N = dims["N"], K = dims["K"];
    const double* x = op.x.as<double>();
    const double* w = weight.as<double>();
    double* y = op.y.as<double>();
    for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t n = 0; n < N; ++n) {
            double sum = 0;
            for (std::int64_t k = 0; k < K; ++k)
                sum += x[t * K + k] * w[n * K + k];
            y[t * N + n] = op.into == Into::add ? y[t * N + n] + sum : sum;
        }
    }
}

void run(const LinearBwdInput& op, const Dims& dims) {
    const TensorView& weight = weight_of(op.weight);
    const auto T = dims["T"], N = dims["N"], K = dims["K"];
    const double* d_y = op.d_y.as<double>();
    const double* w = weight.as<double>();
    double* d_x = op.d_x.as<double>();
    for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t k = 0; k < K; ++k) {
            double sum = 0;
            for (std::int64_t n = 0; n < N; ++n)
                sum += d_y[t * N + n] * w[n * K + k];
            d_x[t * K + k] = op.into == Into::add ? d_x[t * K + k] + sum : sum;
        }
    }
}

void run(const LinearBwdWeight& op, const Dims& dims) {
    const auto T = dims["T"], N = dims["N"], K = dims["K"];
    const double* d_y = op.d_y.as<double>();
    const double* x = op.x.as<double>();
    double* d_weight = op.d_weight.as<double>();
    for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t n = 0; n < N; ++n) {
            for (std::int64_t k = 0; k < K; ++k) {
                d_weight[n * K + k] += d_y[t * N + n] * x[t * K + k];
            }
        }
    }
}

}  // namespace rm::ref
