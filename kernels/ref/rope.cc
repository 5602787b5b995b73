#include <cmath>
#include <numbers>

#include "kernels/ref/ref_ops.h"

namespace rm::ref {

void run(const RopeTable& op, const Dims&) {
    double* cos = op.cos.as<double>();
    double* sin = op.sin.as<double>();
    for (const Run& run : op.runs) {
        for (std::int64_t i = 0; i < run.length; ++i) {
            const auto position = static_cast<double>(run.first + i);
            for (const double frequency : op.inv_freq) {
                const double angle = std::fmod(position * frequency, 2 * std::numbers::pi);
                *cos++ = op.scale * std::cos(angle);
                *sin++ = op.scale * std::sin(angle);
            }
        }
    }
}

void run(const RopeApply& op, const Dims& dims) {
    const auto T = dims["T"], H = dims["H"], D = dims["D"], half = dims["half"];
    // Backward is the transpose; with scale 1 that is the rotation by the negative angle.
    const double sign = op.rotation == Rotation::forward ? 1 : -1;
    for (std::int64_t t = 0; t < T; ++t) {
        const double* cos = op.cos.as<double>() + t * half;
        const double* sin = op.sin.as<double>() + t * half;
        for (std::int64_t h = 0; h < H; ++h) {
            double* low = op.x.as<double>() + (t * H + h) * D;
            double* high = low + half;
            for (std::int64_t i = 0; i < half; ++i) {
                const double a = low[i];
                const double b = high[i];
                low[i] = a * cos[i] - sign * b * sin[i];
                high[i] = b * cos[i] + sign * a * sin[i];
            }
        }
    }
}

}  // namespace rm::ref
