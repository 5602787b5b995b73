#include "base/random.h"

#include <cmath>

namespace rm {
namespace {

double to_unit(std::uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

// Box-Muller; the first argument is kept off zero.
double to_normal(double u, double v) {
    constexpr double kTwoPi = 6.283185307179586476925;
    return std::sqrt(-2.0 * std::log(1.0 - u)) * std::cos(kTwoPi * v);
}

}  // namespace

double uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return to_unit(random_at(seed, stream, index));
}

double normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return to_normal(uniform_at(seed, stream, 2 * index), uniform_at(seed, stream, 2 * index + 1));
}

std::uint64_t Rng::below(std::uint64_t bound) {
    const std::uint64_t limit = max() - max() % bound;
    std::uint64_t bits = (*this)();
    while (bits >= limit)
        bits = (*this)();
    return bits % bound;
}

double Rng::uniform() {
    return to_unit((*this)());
}

double Rng::normal() {
    const double u = uniform();
    return to_normal(u, uniform());
}

}  // namespace rm
