#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void run(const CopyHeads& op, const Dims& dims) {
    const auto T = dims["T"], A = dims["A"], B = dims["B"], D = dims["D"];
    for (std::int64_t t = 0; t < T; ++t) {
        const double* from = op.from.as<double>() + (t * A + op.from_first) * D;
        double* to = op.to.as<double>() + (t * B + op.to_first) * D;
        for (std::int64_t i = 0; i < op.count * D; ++i)
            to[i] = op.into == Into::add ? to[i] + from[i] : from[i];
    }
}

void run(const SumParts& op, const Dims&) {
    const std::int64_t size = op.y.num_elements(), G = op.parts.dim(0);
    const double* parts = op.parts.as<double>();
    double* y = op.y.as<double>();
    for (std::int64_t i = 0; i < size; ++i) {
        double sum = op.into == Into::add ? y[i] + parts[i] : parts[i];
        for (std::int64_t g = 1; g < G; ++g)
            sum += parts[g * size + i];
        y[i] = sum;
    }
}

}  // namespace rm::ref
