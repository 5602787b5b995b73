#include "kernels/pack_row.h"
#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void run(const PackRows& op, const Dims& dims) {
    const auto T = dims["T"], C = dims["C"], W = dims["W"];
    for (std::int64_t t = 0; t < T; ++t) {
        const double* x = op.x.as<double>() + t * C;
        pack_row(
            C, [x](std::int64_t c) { return static_cast<float>(x[c]); },
            op.packed.as<std::int32_t>() + t * W);
    }
}

void run(const UnpackRows& op, const Dims& dims) {
    const auto T = dims["T"], C = dims["C"], W = dims["W"];
    for (std::int64_t t = 0; t < T; ++t) {
        double* x = op.x.as<double>() + t * C;
        unpack_row(C, op.packed.as<std::int32_t>() + t * W,
                   [x](std::int64_t c, float number) { x[c] = number; });
    }
}

}  // namespace rm::ref
