#include "kernels/cpu/simd/each_vec.h"
#include "kernels/cpu/simd/loops_here.h"

// Loss and optimizer: f32 whatever the compute type.
namespace rm::RM_SIMD {
namespace {

RM_INLINE Vec sqrt_vec(Vec x) {
#if defined(__AVX512F__)
    return _mm512_sqrt_ps(x);
#elif defined(__AVX2__)
    return _mm256_sqrt_ps(x);
#elif defined(__SSE2__)
    return _mm_sqrt_ps(x);
#else
    for (int i = 0; i < kWidth; ++i)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

}  // namespace

// In f64: four chains of eight.
double sum_squares(const float* x, std::ptrdiff_t size) {
    constexpr std::ptrdiff_t kLanes = 8, kChains = 4;
    typedef float Floats __attribute__((vector_size(4 * kLanes)));
    typedef double Doubles __attribute__((vector_size(8 * kLanes)));
    Doubles sums[kChains] = {};
    std::ptrdiff_t i = 0;
    for (; i + kChains * kLanes <= size; i += kChains * kLanes) {
#pragma GCC unroll 4
        for (std::ptrdiff_t j = 0; j < kChains; ++j) {
            const float* from = x + i + j * kLanes;
            __builtin_prefetch(from + 512);
            Floats narrow;
            __builtin_memcpy(&narrow, from, sizeof(narrow));
            const auto value = __builtin_convertvector(narrow, Doubles);
            sums[j] += value * value;
        }
    }
    double sum = 0;
    for (; i < size; ++i)
        sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const Doubles total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (std::ptrdiff_t lane = 0; lane < kLanes; ++lane)
        sum += total[lane];
    return sum;
}

float exp_row(float* logits, std::ptrdiff_t V, float* max_logit) {
    Vec highest = splat(logits[0]);
    for_each_vec(
        V, [&](std::ptrdiff_t v, std::ptrdiff_t count) __attribute__((always_inline)) {
            highest = max(highest, first_lanes(get(logits + v, count), count, highest));
        });
    *max_logit = max_lanes(highest);
    const float shift = *max_logit;
    Vec sum{};
    for_each_vec(
        V, [&](std::ptrdiff_t v, std::ptrdiff_t count) __attribute__((always_inline)) {
            const Vec value = exp2_vec((get(logits + v, count) - shift) * kLog2E);
            put(logits + v, value, count);
            sum += first_lanes(value, count, Vec{});
        });
    return sum_lanes(sum);
}

void adamw(const simd::AdamWStep& step, float* weight, const float* grad, float* m, float* v,
           std::ptrdiff_t size) {
    const simd::AdamWStep s = step;
    for_each_vec(
        size, [&](std::ptrdiff_t i, std::ptrdiff_t count) __attribute__((always_inline)) {
            const Vec g = get(grad + i, count) * s.grad_factor;
            const Vec new_m = get(m + i, count) * s.beta1 + g * s.rest1;
            const Vec new_v = get(v + i, count) * s.beta2 + g * g * s.rest2;
            const Vec w = get(weight + i, count);
            const Vec move = new_m * s.correction1 / (sqrt_vec(new_v * s.correction2) + s.eps);
            put(m + i, new_m, count);
            put(v + i, new_v, count);
            put(weight + i, w - s.learning_rate * (move + w * s.weight_decay), count);
        });
}

}  // namespace rm::RM_SIMD
