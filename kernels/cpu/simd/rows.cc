#include "kernels/cpu/simd/loops_here.h"
#include "kernels/cpu/simd/vec.h"

// Loops over one row. The end of a row goes through the same vector code as the rest, so that an
// element's value does not depend on where the row was cut.
namespace rm::RM_SIMD {
namespace {

RM_INLINE Vec get(const float* from, std::ptrdiff_t count) {
    return count == kWidth ? load(from) : load_first(from, count);
}
RM_INLINE void put(float* to, Vec value, std::ptrdiff_t count) {
    if (count == kWidth) return store(to, value);
    store_first(to, value, count);
}

// body(first, count) for each vector of [0, size); count is kWidth except at the end.
template <typename Body>
RM_INLINE void for_each_vec(std::ptrdiff_t size, const Body& body) {
    std::ptrdiff_t i = 0;
    for (; i + kWidth <= size; i += kWidth)
        body(i, kWidth);
    if (i < size) body(i, size - i);
}

// `value` in the first `count` lanes, `other` in the rest.
RM_INLINE Vec first_lanes(Vec value, std::ptrdiff_t count, Vec other) {
    if (count == kWidth) return value;
    return select(lane_numbers() < static_cast<std::int32_t>(count), value, other);
}

RM_INLINE Vec sigmoid(Vec x) {
    const Vec power = x * -kLog2E;
    return 1.0f / (1.0f + exp2_vec(select(power > 127.0f, splat(127.0f), power)));
}

RM_INLINE Vec sqrt_vec(Vec x) {
    for (int i = 0; i < kWidth; ++i)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
}

}  // namespace

float dot(const float* x, const float* y, std::ptrdiff_t size) {
    Vec sum{};
    for_each_vec(
        size, [&](std::ptrdiff_t i, std::ptrdiff_t count)
                  __attribute__((always_inline)) { sum += get(x + i, count) * get(y + i, count); });
    return sum_lanes(sum);
}

double sum_squares(const float* x, std::ptrdiff_t size) {
    constexpr std::ptrdiff_t kLanes = 16;
    double lanes[kLanes] = {};
    std::ptrdiff_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        for (std::ptrdiff_t j = 0; j < kLanes; ++j)
            lanes[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    }
    double sum = 0;
    for (; i < size; ++i)
        sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    for (const double lane : lanes)
        sum += lane;
    return sum;
}

void add(const float* x, float* y, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; ++i)
        y[i] += x[i];
}

void scale(const float* x, float factor, float* y, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; ++i)
        y[i] = factor * x[i];
}

float rmsnorm_fwd(const float* x, const float* weight, float eps, float* y, std::ptrdiff_t C) {
    const float mean = dot(x, x, C) / static_cast<float>(C);
    const float rstd = 1 / __builtin_sqrtf(mean + eps);
    for (std::ptrdiff_t c = 0; c < C; ++c)
        y[c] = x[c] * rstd * weight[c];
    return rstd;
}

// With g = d_y * weight: d_x = rstd g - x rstd^3 mean(g x).
void rmsnorm_bwd(const float* d_y, const float* x, const float* weight, float rstd, float* d_x,
                 float* d_weight, std::ptrdiff_t C) {
    Vec sum{};
    for_each_vec(
        C, [&](std::ptrdiff_t c, std::ptrdiff_t count) __attribute__((always_inline)) {
            sum += get(d_y + c, count) * get(weight + c, count) * get(x + c, count);
        });
    const float pull = sum_lanes(sum) / static_cast<float>(C) * rstd * rstd * rstd;
    for_each_vec(
        C, [&](std::ptrdiff_t c, std::ptrdiff_t count) __attribute__((always_inline)) {
            const Vec gradient = get(d_y + c, count) * rstd;
            const Vec here = get(x + c, count);
            const Vec d_here = gradient * get(weight + c, count) - here * pull;
            put(d_x + c, get(d_x + c, count) + d_here, count);
            put(d_weight + c, get(d_weight + c, count) + gradient * here, count);
        });
}

void rotate(float* x, const float* cos, const float* sin, float sign, std::ptrdiff_t half) {
    for_each_vec(
        half, [&](std::ptrdiff_t i, std::ptrdiff_t count) __attribute__((always_inline)) {
            const Vec low = get(x + i, count), high = get(x + half + i, count);
            const Vec c = get(cos + i, count), s = get(sin + i, count) * sign;
            put(x + i, low * c - high * s, count);
            put(x + half + i, high * c + low * s, count);
        });
}

void swiglu_fwd(const float* gate, const float* up, float* h, std::ptrdiff_t size) {
    for_each_vec(
        size, [&](std::ptrdiff_t i, std::ptrdiff_t count) __attribute__((always_inline)) {
            const Vec g = get(gate + i, count);
            put(h + i, g * sigmoid(g) * get(up + i, count), count);
        });
}

void swiglu_bwd(const float* d_h, const float* gate, const float* up, float* d_gate, float* d_up,
                std::ptrdiff_t size) {
    for_each_vec(
        size, [&](std::ptrdiff_t i, std::ptrdiff_t count) __attribute__((always_inline)) {
            const Vec d = get(d_h + i, count), g = get(gate + i, count), u = get(up + i, count);
            const Vec s = sigmoid(g);
            put(d_up + i, d * g * s, count);
            put(d_gate + i, d * u * s * (1.0f + g * (1.0f - s)), count);
        });
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
