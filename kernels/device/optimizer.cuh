#pragma once

#include "kernels/device/reduce.h"
#include "kernels/device/vectors.h"

// The norm of all gradients, and AdamW.
namespace rm::device {

template <typename Gradient>
struct SumSquaresParams {
    const Gradient* x;  // float, or bf16 as std::uint16_t
    double* parts;      // one per block
    std::int64_t count;
};
// Each block's part of the sum of squares, in f64.
template <typename Gradient, int kWidth>
struct SumSquaresParts {
    static constexpr const char* kName = kWidth == 1 ? "sum_squares_unaligned" : "sum_squares";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    struct Shared {
        double sums[kThreads / 32];
    };
    using Params = SumSquaresParams<Gradient>;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        double sum = 0;
        for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
            constexpr int kCount = decltype(width)::value;
            float x[kCount];
            load(p.x + at, x);
            SIMT_UNROLL
            for (int i = 0; i < kCount; ++i)
                sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        });
        sum = block_sum<kThreads>(sum, shared.sums);
        if (simt::thread() == 0) p.parts[simt::block_x()] = sum;
    }
};

// sum += the parts; one block.
struct AddParts {
    static constexpr const char* kName = "add_parts";
    static constexpr int kThreads = 128;
    static constexpr int kMinBlocks = 1;
    struct Shared {
        double sums[kThreads / 32];
    };
    struct Params {
        const double* parts;
        int num_parts;
        double* sum;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        double sum = 0;
        for (int i = simt::thread(); i < p.num_parts; i += kThreads)
            sum += p.parts[i];
        sum = block_sum<kThreads>(sum, shared.sums);
        if (simt::thread() == 0) *p.sum += sum;
    }
};

struct Clip : PlainKernel<32, 1> {
    static constexpr const char* kName = "clip_factor";
    struct Params {
        const double* sum;
        const double* effects;  // (num_effects, kNumbers): Fp8Effects
        int num_effects;
        double max_norm;
        double* out;  // (3): norm, factor, finite
    };
    static constexpr int kNumbers = 6, kNonfinite = 3;  // of an Fp8Effect

    SIMT_FN static void run(const Params& p, Shared&) {
        bool finite = true;
        for (int i = simt::lane(); i < p.num_effects; i += 32)
            finite = finite && p.effects[i * kNumbers + kNonfinite] == 0;
        finite = simt::ballot(!finite) == 0;
        if (simt::lane() != 0) return;
        const double norm = sqrt(*p.sum);
        const bool clips = p.max_norm > 0 && norm > p.max_norm;
        p.out[0] = norm;
        p.out[1] = clips ? p.max_norm / norm : 1;
        p.out[2] = finite && norm - norm == 0 ? 1 : 0;
    }
};

// mix64 of base/random.h: splitmix64's finaliser.
SIMT_FN std::uint64_t mix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// To one of the two neighbours in bf16, with the probability that makes the expectation `value`;
// the lower 16 bits of `random` are uniform. Infinities stay what they are.
SIMT_FN std::uint16_t to_bf16_stochastically(float value, std::uint64_t random) {
    FloatBits f;
    f.value = value;
    if ((f.bits & 0x7f800000) == 0x7f800000) return to_bf16(value);
    return static_cast<std::uint16_t>((f.bits + (random & 0xffff)) >> 16);
}

// Which elements of a whole tensor those of an update are.
struct AdamWPlace {
    std::int64_t first_element;
    std::int64_t columns;  // 0: not cut by columns
    std::int64_t all_columns;
    std::int64_t first_column;
};
// Elements of the whole tensor from element `at` of the update on.
class WholeElements {
public:
    SIMT_FN WholeElements(const AdamWPlace& place, std::int64_t at)
        : element_(place.first_element + at), left_(0), columns_(0), gap_(0) {
        if (place.columns == 0) return;
        const std::int64_t row = element_ / place.columns, column = element_ - row * place.columns;
        element_ = row * place.all_columns + place.first_column + column;
        left_ = place.columns - column;
        columns_ = place.columns;
        gap_ = place.all_columns - place.columns;
    }

    SIMT_FN std::uint64_t take() {
        const auto element = static_cast<std::uint64_t>(element_++);
        if (--left_ == 0) {
            left_ = columns_;
            element_ += gap_;
        }
        return element;
    }

private:
    std::int64_t element_;
    std::int64_t left_;  // in this row; below 0 where rows do not matter
    std::int64_t columns_;
    std::int64_t gap_;
};

template <typename Gradient, typename Moment>
struct AdamWParams {
    float* weight;
    const Gradient* grad;  // float, or bf16 as std::uint16_t
    Moment* m;             // likewise
    Moment* v;
    const double* clip;  // (3): norm, factor, finite
    std::int64_t count;
    float learning_rate, beta1, rest1, beta2, rest2, correction1, correction2, eps, weight_decay;
    std::uint64_t rounding_key;  // of this tensor and step
    AdamWPlace place;
};
template <typename Gradient, typename Moment>
struct AdamWUpdate {
    template <int kWidth>
    struct Kernel : PlainKernel<256, 4> {
        static constexpr const char* kName = kWidth == 1 ? "adamw_unaligned" : "adamw";
        using Params = AdamWParams<Gradient, Moment>;

        SIMT_FN static void run(const Params& p, Shared&) {
            if (p.clip[2] == 0) return;
            const auto grad_factor = static_cast<float>(p.clip[1]);
            for_each_vector<kThreads, kWidth>(p.count, [&](auto width, std::int64_t at) {
                update<decltype(width)::value>(p, grad_factor, at);
            });
        }

    private:
        template <int kCount>
        SIMT_FN static void update(const Params& p, float grad_factor, std::int64_t at) {
            float weight[kCount], grad[kCount], m[kCount], v[kCount];
            load(p.weight + at, weight);
            load(p.grad + at, grad);
            load(p.m + at, m);
            load(p.v + at, v);
            SIMT_UNROLL
            for (int i = 0; i < kCount; ++i) {
                const float g = grad[i] * grad_factor;
                m[i] = p.beta1 * m[i] + p.rest1 * g;
                v[i] = p.beta2 * v[i] + p.rest2 * g * g;
                const float root = sqrtf(v[i] * p.correction2) + p.eps;
                const float step = m[i] * p.correction1 / root + p.weight_decay * weight[i];
                weight[i] -= p.learning_rate * step;
            }
            store(p.weight + at, weight);
            store_moments(p, at, m, v);
        }

        template <int kCount>
        SIMT_FN static void store_moments(const AdamWParams<Gradient, float>& p, std::int64_t at,
                                          const float (&m)[kCount], const float (&v)[kCount]) {
            store(p.m + at, m);
            store(p.v + at, v);
        }
        // Rounded by the element's own random number, whichever thread has it.
        template <int kCount>
        SIMT_FN static void store_moments(const AdamWParams<Gradient, std::uint16_t>& p,
                                          std::int64_t at, const float (&m)[kCount],
                                          const float (&v)[kCount]) {
            Words<std::uint16_t, kCount> rounded_m, rounded_v;
            WholeElements elements(p.place, at);
            SIMT_UNROLL
            for (int i = 0; i < kCount; ++i) {
                const std::uint64_t random = mix64(p.rounding_key ^ elements.take());
                rounded_m.x[i] = to_bf16_stochastically(m[i], random);
                rounded_v.x[i] = to_bf16_stochastically(v[i], random >> 16);
            }
            *reinterpret_cast<Words<std::uint16_t, kCount>*>(p.m + at) = rounded_m;
            *reinterpret_cast<Words<std::uint16_t, kCount>*>(p.v + at) = rounded_v;
        }
    };
};

}  // namespace rm::device
