#include <cmath>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

}  // namespace

void run(const SwigluFwd& op, const Dims&) {
    const double* gate = op.gate.as<double>();
    const double* up = op.up.as<double>();
    double* h = op.h.as<double>();
    for (std::int64_t i = 0; i < op.h.num_elements(); ++i) {
        h[i] = gate[i] * sigmoid(gate[i]) * up[i];
    }
}

void run(const SwigluBwd& op, const Dims&) {
    const double* d_h = op.d_h.as<double>();
    const double* gate = op.gate.as<double>();
    const double* up = op.up.as<double>();
    double* d_gate = op.d_gate.as<double>();
    double* d_up = op.d_up.as<double>();
    for (std::int64_t i = 0; i < op.d_h.num_elements(); ++i) {
        const double s = sigmoid(gate[i]);
        const double d = d_h[i];  // before d_gate, which may be the same memory
        d_up[i] = d * gate[i] * s;
        d_gate[i] = d * up[i] * s * (1 + gate[i] * (1 - s));
    }
}

}  // namespace rm::ref
