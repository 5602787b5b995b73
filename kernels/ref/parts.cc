#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void run(const CopyHeads& op) {
    Dims dims("copy_heads");
    dims.bind<"T A D">(op.from, "from").bind<"T B D">(op.to, "to");
    const auto T = dims["T"], A = dims["A"], B = dims["B"], D = dims["D"];
    RM_CHECK(op.from_first >= 0 && op.to_first >= 0 && op.count >= 0 &&
                 op.from_first + op.count <= A && op.to_first + op.count <= B,
             "copy_heads: heads {}+{} of {} to {}+{} of {}", op.from_first, op.count,
             shape_string(op.from), op.to_first, op.count, shape_string(op.to));
    for (std::int64_t t = 0; t < T; ++t) {
        const double* from = op.from.as<double>() + (t * A + op.from_first) * D;
        double* to = op.to.as<double>() + (t * B + op.to_first) * D;
        for (std::int64_t i = 0; i < op.count * D; ++i)
            to[i] = op.into == Into::add ? to[i] + from[i] : from[i];
    }
}

void run(const SumParts& op) {
    const std::int64_t size = op.y.num_elements(), G = op.parts.dim(0);
    RM_CHECK(G > 0 && op.parts.num_elements() == G * size, "sum_parts: parts {}, y {}",
             shape_string(op.parts), shape_string(op.y));
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
