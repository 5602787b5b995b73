#include <cmath>

#include "base/random.h"
#include "kernels/bf16.h"
#include "kernels/ref/ref_ops.h"

namespace rm::ref {

namespace {

// Element i of a gradient in f64 or bf16.
double gradient_at(const TensorView& x, std::int64_t i) {
    return x.dtype() == DType::f64 ? x.as<double>()[i] : from_bf16(x.as<Bf16>()[i]);
}

}  // namespace

void run(const SumSquares& op, const Dims&) {
    double& sum = *op.sum.as<double>();
    for (std::int64_t i = 0; i < op.x.num_elements(); ++i) {
        const double x = gradient_at(op.x, i);
        sum += x * x;
    }
}

void run(const ClipFactor& op, const Dims&) {
    const double norm = std::sqrt(*op.sum.as<double>());
    const bool clips = op.max_norm > 0 && norm > op.max_norm;
    double* out = op.out.as<double>();
    out[0] = norm;
    out[1] = clips ? op.max_norm / norm : 1;
    out[2] = std::isfinite(norm) && op.rounded_only_finite() ? 1 : 0;
}

namespace {

// One element's moments, kept in f64 or in bf16, rounded stochastically.
class Moments {
public:
    explicit Moments(const AdamW& op)
        : op_(op),
          key_(mix64(mix64(op.rounding_seed) ^ static_cast<std::uint64_t>(op.step))),
          elements_(op, 0) {}

    // update(m, v) of element i; elements come in order.
    template <typename Update>
    void change(std::int64_t i, const Update& update) {
        if (op_.m.dtype() == DType::f64)
            return update(op_.m.as<double>()[i], op_.v.as<double>()[i]);
        Bf16 &kept_m = op_.m.as<Bf16>()[i], &kept_v = op_.v.as<Bf16>()[i];
        double m = from_bf16(kept_m), v = from_bf16(kept_v);
        update(m, v);
        const std::uint64_t random = mix64(key_ ^ elements_.take());
        kept_m = rounded(m, random);
        kept_v = rounded(v, random >> 16);
    }

private:
    static Bf16 rounded(double value, std::uint64_t random) {
        return to_bf16_stochastically(static_cast<float>(value),
                                      static_cast<std::uint16_t>(random));
    }

    const AdamW& op_;
    std::uint64_t key_;
    WholeElements elements_;
};

}  // namespace

void run(const AdamW& op, const Dims&) {
    const std::int64_t size = op.weight.num_elements();
    const double* clip = op.clip.as<double>();
    if (clip[2] == 0) return;
    const double correction1 = 1 - std::pow(op.beta1, static_cast<double>(op.step));
    const double correction2 = 1 - std::pow(op.beta2, static_cast<double>(op.step));
    double* weight = op.weight.as<double>();
    Moments moments(op);
    for (std::int64_t i = 0; i < size; ++i) {
        const double grad = gradient_at(op.grad, i) * clip[1];
        moments.change(i, [&](double& m, double& v) {
            m = op.beta1 * m + (1 - op.beta1) * grad;
            v = op.beta2 * v + (1 - op.beta2) * grad * grad;
            const double step = m / correction1 / (std::sqrt(v / correction2) + op.eps);
            weight[i] -= op.learning_rate * (step + op.weight_decay * weight[i]);
        });
    }
}

}  // namespace rm::ref
