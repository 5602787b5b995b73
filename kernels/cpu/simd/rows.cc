#include "kernels/cpu/simd/each_vec.h"
#include "kernels/cpu/simd/loops_here.h"

// Loops over rows of f32 or bf16; arithmetic is f32.
namespace rm::RM_SIMD {
namespace {

#define RM_EACH [&](std::ptrdiff_t i, std::ptrdiff_t count) __attribute__((always_inline))

// 1 / x to about 1 ulp: dividing costs as much as all of exp2_vec.
RM_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
    const Vec guess = _mm512_rcp14_ps(x);
    return guess + guess * (1.0f - x * guess);
#else
    return 1.0f / x;
#endif
}

RM_INLINE Vec sigmoid(Vec x) {
    const Vec power = x * -kLog2E;
    return reciprocal(1.0f + exp2_vec(select(power > 127.0f, splat(127.0f), power)));
}

template <typename T>
void add(const T* x, T* y, std::ptrdiff_t size) {
    for_each_vec(
        size, RM_EACH { put(y + i, get(y + i, count) + get(x + i, count), count); });
}

template <typename T>
void accumulate(const T* x, float* sum, std::ptrdiff_t size) {
    for_each_vec(
        size, RM_EACH { put(sum + i, get(sum + i, count) + get(x + i, count), count); });
}

template <typename T>
void scale(const float* x, float factor, T* y, std::ptrdiff_t size) {
    for_each_vec(
        size, RM_EACH { put(y + i, factor * get(x + i, count), count); });
}

template <typename From, typename To>
void convert(const From* x, To* y, std::ptrdiff_t size) {
    for_each_vec(
        size, RM_EACH { put(y + i, get(x + i, count), count); });
}

template <typename T>
float rmsnorm_fwd(const T* x, const float* weight, float eps, T* y, std::ptrdiff_t C) {
    const auto square = RM_EACH {
        const Vec here = get(x + i, count);
        return here * here;
    };
    const float mean = sum_each_vec(C, square) / static_cast<float>(C);
    const float rstd = 1 / __builtin_sqrtf(mean + eps);
    for_each_vec(
        C, RM_EACH { put(y + i, get(x + i, count) * rstd * get(weight + i, count), count); });
    return rstd;
}

// With g = d_y * weight: d_x = rstd g - x rstd^3 mean(g x).
template <typename T>
void rmsnorm_bwd(const T* d_y, const T* x, const float* weight, float rstd, T* d_x, float* d_weight,
                 std::ptrdiff_t C) {
    const auto product = RM_EACH {
        return get(d_y + i, count) * get(weight + i, count) * get(x + i, count);
    };
    const float pull = sum_each_vec(C, product) / static_cast<float>(C) * rstd * rstd * rstd;
    for_each_vec(
        C, RM_EACH {
            const Vec gradient = get(d_y + i, count) * rstd;
            const Vec here = get(x + i, count);
            const Vec d_here = gradient * get(weight + i, count) - here * pull;
            put(d_x + i, get(d_x + i, count) + d_here, count);
            put(d_weight + i, get(d_weight + i, count) + gradient * here, count);
        });
}

template <typename T>
void rotate(T* x, const float* cos, const float* sin, float sign, std::ptrdiff_t half) {
    for_each_vec(
        half, RM_EACH {
            const Vec low = get(x + i, count), high = get(x + half + i, count);
            const Vec c = get(cos + i, count), s = get(sin + i, count) * sign;
            put(x + i, low * c - high * s, count);
            put(x + half + i, high * c + low * s, count);
        });
}

template <typename T>
void swiglu_fwd(const T* gate, const T* up, T* h, std::ptrdiff_t size) {
    for_each_vec(
        size, RM_EACH {
            const Vec g = get(gate + i, count);
            put(h + i, g * sigmoid(g) * get(up + i, count), count);
        });
}

template <typename T>
void swiglu_bwd(const T* d_h, const T* gate, const T* up, T* d_gate, T* d_up, std::ptrdiff_t size) {
    for_each_vec(
        size, RM_EACH {
            const Vec d = get(d_h + i, count), g = get(gate + i, count), u = get(up + i, count);
            const Vec s = sigmoid(g);
            put(d_up + i, d * g * s, count);
            put(d_gate + i, d * u * s * (1.0f + g * (1.0f - s)), count);
        });
}

template <typename T>
simd::RowLoops<T> loops_of(const simd::Fp8Loops<T>& fp8) {
    return {.add = add<T>,
            .accumulate = accumulate<T>,
            .scale = scale<T>,
            .widen = convert<T, float>,
            .round = convert<float, T>,
            .rmsnorm_fwd = rmsnorm_fwd<T>,
            .rmsnorm_bwd = rmsnorm_bwd<T>,
            .rotate = rotate<T>,
            .swiglu_fwd = swiglu_fwd<T>,
            .swiglu_bwd = swiglu_bwd<T>,
            .fp8 = fp8};
}

}  // namespace

simd::RowLoops<float> rows_f32() {
    return loops_of<float>(fp8_f32());
}
simd::RowLoops<Bf16> rows_bf16() {
    return loops_of<Bf16>(fp8_bf16());
}

}  // namespace rm::RM_SIMD
