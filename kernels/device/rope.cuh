#pragma once

#include "kernels/device/vectors.h"

// Rotary position embedding (Su et al., 2021).
namespace rm::device {

// cos and sin of position * frequency for the tokens of some runs, which come by value. The angle
// is formed in fp64 and reduced mod 2 pi: in fp32 it is wrong by 0.05 at a million tokens.
struct RopeTableFill : PlainKernel<128, 8> {
    static constexpr const char* kName = "rope_table";
    static constexpr int kMaxFrequencies = 256;
    static constexpr int kMaxRuns = 96;
    struct TokenRun {
        std::int64_t token;     // its first token's row in the tables, counted from first_token
        std::int64_t position;  // of that token
    };
    struct Params {
        float* cos;  // (num_tokens, half)
        float* sin;  // (num_tokens, half)
        std::int64_t num_tokens;
        double scale;
        int half;
        int num_runs;
        double inv_freq[kMaxFrequencies];  // (half)
        TokenRun runs[kMaxRuns];           // ascending
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        for_each<kThreads>(p.num_tokens * p.half, [&](std::int64_t i) {
            const std::int64_t token = i / p.half;
            const double frequency = p.inv_freq[i - token * p.half];
            const Direction to = direction(static_cast<double>(position(p, token)) * frequency);
            p.cos[i] = static_cast<float>(p.scale * to.cos);
            p.sin[i] = static_cast<float>(p.scale * to.sin);
        });
    }

private:
    SIMT_FN static std::int64_t position(const Params& p, std::int64_t token) {
        int low = 0, high = p.num_runs;  // the run that has the token is in [low, high)
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            (p.runs[middle].token <= token ? low : high) = middle;
        }
        return p.runs[low].position + (token - p.runs[low].token);
    }

    template <int kTerms>
    SIMT_FN static double series(const double (&coefficients)[kTerms], double y) {
        double sum = 0;
        SIMT_UNROLL
        for (int i = kTerms - 1; i >= 0; --i)
            sum = sum * y + coefficients[i];
        return sum;
    }

    // cos and sin of an angle, good to 1e-11. Quarter turns are taken off first; a quarter is the
    // sum of two numbers, the first of which has 23 trailing zero bits, so that its product with 8
    // million quarters is exact. The rest is in [-pi/4, pi/4], where a few terms of the series
    // do.
    struct Direction {
        double cos, sin;
    };
    SIMT_FN static Direction direction(double angle) {
        constexpr double kHigh = 1.570796325802803, kLow = 9.920935796805404e-10;
        const double quarters = floor(angle * 0.6366197723675814 + 0.5);
        const double x = angle - quarters * kHigh - quarters * kLow;
        const double y = x * x;
        constexpr double kSine[] = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                    -1.0 / 39916800};
        constexpr double kCosine[] = {-1.0 / 2,    1.0 / 24,       -1.0 / 720,
                                      1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
        const double s = x + x * y * series(kSine, y), c = 1 + y * series(kCosine, y);
        switch (static_cast<std::int64_t>(quarters) & 3) {
            case 0:
                return {c, s};
            case 1:
                return {-s, c};
            case 2:
                return {-c, -s};
            default:
                return {s, -c};
        }
    }
};

struct RopeRotateParams {
    std::uint16_t* x;  // (T, H, 2 half) bf16, in place
    const float* cos;  // (T, half)
    const float* sin;  // (T, half)
    std::int64_t T;
    std::int64_t H;
    std::int64_t half;
    float sign;  // 1 forward, -1 backward
};
// Pairs (i, i + half) of every head; kPairs neighbours at a time, which divides half.
template <int kPairs>
struct RopeRotate : PlainKernel<256, 4> {
    static constexpr const char* kName = kPairs == 1 ? "rope_apply_unaligned" : "rope_apply";
    using Params = RopeRotateParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        const std::int64_t per_head = p.half / kPairs, per_token = p.H * per_head;
        for_each<kThreads>(p.T * per_token, [&](std::int64_t i) {
            const std::int64_t t = i / per_token;
            const auto in_token = static_cast<std::uint32_t>(i - t * per_token);
            const auto head = in_token / static_cast<std::uint32_t>(per_head);
            const std::int64_t pair = (in_token - head * per_head) * kPairs;
            rotate(p.x + (t * p.H + head) * 2 * p.half + pair, p.half, p.cos + t * p.half + pair,
                   p.sin + t * p.half + pair, p.sign);
        });
    }

private:
    SIMT_FN static void rotate(std::uint16_t* x, std::int64_t half, const float* cos,
                               const float* sin, float sign) {
        float low[kPairs], high[kPairs], c[kPairs], s[kPairs];
        load(x, low);
        load(x + half, high);
        load(cos, c);
        load(sin, s);
        SIMT_UNROLL
        for (int j = 0; j < kPairs; ++j) {
            const float a = low[j], b = high[j];
            low[j] = a * c[j] - sign * b * s[j];
            high[j] = b * c[j] + sign * a * s[j];
        }
        store(x, low);
        store(x + half, high);
    }
};

}  // namespace rm::device
