#pragma once

#include <cstdint>
#include <limits>

namespace rm {

// splitmix64's finaliser: a good 64-bit mix.
constexpr std::uint64_t mix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// Random numbers addressed by (seed, stream, index): the same on every mesh and in any order.
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return mix64(mix64(mix64(seed) ^ stream) ^ index);
}
double uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);  // [0, 1)
double normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// A seeded sequence; satisfies UniformRandomBitGenerator. Give the same seed, get the same numbers
// on every machine (std::uniform_int_distribution does not promise that, so `below` is ours).
class Rng {
public:
    using result_type = std::uint64_t;
    explicit Rng(std::uint64_t seed) : state_(mix64(seed)) {}
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
    result_type operator()() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }
    std::uint64_t below(std::uint64_t bound);  // [0, bound), unbiased; bound > 0
    double uniform();                          // [0, 1)
    double normal();

private:
    std::uint64_t state_;
};

}  // namespace rm
