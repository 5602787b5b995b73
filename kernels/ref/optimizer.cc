#include <cmath>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void sum_squares(const SumSquares& op) {
    Dims("sum_squares").bind<"1">(op.sum, "sum");
    const double* x = op.x.as<double>();
    double& sum = *op.sum.as<double>();
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i)
        sum += x[i] * x[i];
}

void clip_factor(const ClipFactor& op) {
    Dims("clip_factor").bind<"1">(op.sum, "sum").bind<"3">(op.out, "out");
    const double norm = std::sqrt(*op.sum.as<double>());
    const bool clips = op.max_norm > 0 && norm > op.max_norm;
    double* out = op.out.as<double>();
    out[0] = norm;
    out[1] = clips ? op.max_norm / norm : 1;
    out[2] = std::isfinite(norm) ? 1 : 0;
}

void adamw(const AdamW& op) {
    Dims("adamw").bind<"3">(op.clip, "clip");
    const std::int64_t size = op.weight.num_elements();
    RM_CHECK(op.grad.num_elements() == size && op.m.num_elements() == size &&
                 op.v.num_elements() == size,
             "adamw: weight {}, grad {}, m {}, v {}", shape_string(op.weight),
             shape_string(op.grad), shape_string(op.m), shape_string(op.v));
    RM_CHECK(op.m.dtype() == DType::f64 && op.v.dtype() == DType::f64,
             "adamw: ref keeps moments in f64 and rounds nothing; m is {}, v is {}",
             shape_string(op.m), shape_string(op.v));
    const double* clip = op.clip.as<double>();
    if (clip[2] == 0) return;
    const double correction1 = 1 - std::pow(op.beta1, static_cast<double>(op.step));
    const double correction2 = 1 - std::pow(op.beta2, static_cast<double>(op.step));
    double* weight = op.weight.as<double>();
    double* m = op.m.as<double>();
    double* v = op.v.as<double>();
    for (std::int64_t i = 0; i < size; ++i) {
        const double grad = op.grad.as<double>()[i] * clip[1];
        m[i] = op.beta1 * m[i] + (1 - op.beta1) * grad;
        v[i] = op.beta2 * v[i] + (1 - op.beta2) * grad * grad;
        const double step = m[i] / correction1 / (std::sqrt(v[i] / correction2) + op.eps);
        weight[i] -= op.learning_rate * (step + op.weight_decay * weight[i]);
    }
}

}  // namespace rm::ref
