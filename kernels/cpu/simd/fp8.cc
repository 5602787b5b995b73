#include "kernels/cpu/simd/loops_here.h"
#include "kernels/cpu/simd/vec.h"

// FP8: see kernels/fp8.h for what the numbers are, and kernels/round_fp8.h for how they are found.
namespace rm::RM_SIMD {
namespace {

typedef std::uint8_t Bytes __attribute__((vector_size(kWidth)));
typedef std::uint8_t BytesInMemory __attribute__((vector_size(kWidth), aligned(1), may_alias));

struct E4m3 {
    static constexpr int kMantissa = 3, kBias = 7;
    static constexpr std::uint32_t kLargest = 0x7e;
    static constexpr float kLargestNumber = 448.0f;
};
struct E5m2 {
    static constexpr int kMantissa = 2, kBias = 15;
    static constexpr std::uint32_t kLargest = 0x7b;
    static constexpr float kLargestNumber = 57344.0f;
};

RM_INLINE VecU bits_of(Vec x) {
    return reinterpret_cast<VecU>(x);
}
RM_INLINE Vec as_floats(VecU bits) {
    return reinterpret_cast<Vec>(bits);
}
RM_INLINE VecU splat_bits(std::uint32_t bits) {
    return bits - VecU{};
}
// For bits below 2^31, which compare as signed numbers in fewer instructions.
RM_INLINE VecI as_ints(VecU bits) {
    return reinterpret_cast<VecI>(bits);
}
RM_INLINE VecU select_bits(VecI condition, VecU yes, VecU no) {
    return condition ? yes : no;
}

constexpr std::uint32_t kSize = 0x7fffffff, kInfinity = 0x7f800000;

// Below the smallest normal number, adding 2^23 units of the last place rounds to one.
template <typename Format>
RM_INLINE VecU round_code(Vec x) {
    constexpr int kBits = Format::kMantissa, kDropped = 23 - kBits;
    constexpr std::uint32_t kBias = 127 - Format::kBias;
    constexpr std::uint32_t kMagic = (kBias + 1 - kBits + 23) << 23;
    const VecU bits = bits_of(x), size = bits & kSize;
    const VecU half = ((1u << (kDropped - 1)) - 1) + (size >> kDropped & 1u);
    const VecU normal = ((size + half) >> kDropped) - (kBias << kBits);
    const VecU small = bits_of(as_floats(size) + as_floats(splat_bits(kMagic))) - kMagic;
    const VecI is_small = as_ints(size) < static_cast<std::int32_t>((kBias + 1) << 23);
    VecU code = select_bits(is_small, small, normal);
    const VecI is_in_range = as_ints(code) < static_cast<std::int32_t>(Format::kLargest);
    code = select_bits(is_in_range, code, splat_bits(Format::kLargest));
    code |= bits >> 24 & 0x80u;
    return select_bits(as_ints(size) > static_cast<std::int32_t>(kInfinity), splat_bits(0x7f),
                       code);
}

// The size of a code that stands for a finite number.
template <typename Format>
RM_INLINE Vec size_of_code(VecU size) {
    constexpr int kBits = Format::kMantissa;
    constexpr std::uint32_t kUnit = 127 - Format::kBias - kBits;
    const VecU exponent = size >> kBits, mantissa = size & ((1u << kBits) - 1);
    const VecI is_small = as_ints(exponent) == 0;
    const VecU units = select_bits(is_small, mantissa, mantissa | (1u << kBits));
    const VecU scale = (kUnit + select_bits(is_small, splat_bits(1), exponent)) << 23;
    return __builtin_convertvector(as_ints(units), Vec) * as_floats(scale);
}

template <typename Format>
RM_INLINE Vec number_of_code(VecU code) {
    const VecU size = code & 0x7fu;
    VecU bits = bits_of(size_of_code<Format>(size));
    if (Format::kLargest == 0x7b)
        bits = select_bits(as_ints(size) == 0x7c, splat_bits(kInfinity), bits);
    bits |= (code & 0x80u) << 24;
    const VecI is_nan = as_ints(size) > (Format::kLargest == 0x7b ? 0x7c : 0x7e);
    return as_floats(select_bits(is_nan, splat_bits(0x7fc00000), bits));
}

RM_INLINE VecU load_codes(const std::uint8_t* from) {
    return __builtin_convertvector(Bytes(*reinterpret_cast<const BytesInMemory*>(from)), VecU);
}
RM_INLINE void store_codes(std::uint8_t* to, VecU codes) {
    *reinterpret_cast<BytesInMemory*>(to) = __builtin_convertvector(codes, Bytes);
}

// For numbers that the type holds as they are.
RM_INLINE void store_exact(float* to, Vec value) {
    store(to, value);
}
RM_INLINE void store_exact(Bf16* to, Vec value) {
    *reinterpret_cast<HalvesInMemory*>(to) = __builtin_convertvector(bits_of(value) >> 16, Halves);
}

template <typename Format, typename T>
void round(const T* x, float factor, std::uint8_t* codes, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; i += kWidth)
        store_codes(codes + i, round_code<Format>(load(x + i) * factor));
}

template <typename Format, typename T>
void round_each(const T* x, const float* factors, std::uint8_t* codes, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; i += kWidth)
        store_codes(codes + i, round_code<Format>(load(x + i) * load(factors + i)));
}

template <typename Format, typename T>
void widen(const std::uint8_t* codes, float scale, T* y, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; i += kWidth)
        store_exact(y + i, number_of_code<Format>(load_codes(codes + i)) * scale);
}

template <typename Format, typename T>
void widen_each(const std::uint8_t* codes, const float* scales, T* y, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; i += kWidth)
        store_exact(y + i, number_of_code<Format>(load_codes(codes + i)) * load(scales + i));
}

RM_INLINE std::uint32_t sum_counts(VecI negative) {
    std::int32_t sum = 0;
    for (int i = 0; i < kWidth; ++i)
        sum -= negative[i];
    return static_cast<std::uint32_t>(sum);
}

// A condition that holds is -1.
template <typename Format, typename T>
simd::Fp8RowEffect observe(const T* x, const std::uint8_t* codes, float factor,
                           std::ptrdiff_t size) {
    constexpr float kMost = 0x1p48f;
    VecI nonzero{}, flushed{}, saturated{}, nonfinite{};
    Vec squares{}, errors{};
    for (std::ptrdiff_t i = 0; i < size; i += kWidth) {
        const VecU bits = bits_of(load(x + i)) & kSize, code = load_codes(codes + i) & 0x7fu;
        const VecI finite = as_ints(bits) < static_cast<std::int32_t>(kInfinity);
        const VecI counts = finite & (as_ints(bits) != 0);
        const Vec scaled = as_floats(bits) * factor;
        const Vec counted = as_floats(bits_of(select(scaled < kMost, scaled, splat(kMost))) &
                                      reinterpret_cast<VecU>(counts));
        const Vec number =
            as_floats(bits_of(size_of_code<Format>(code)) & reinterpret_cast<VecU>(counts));
        const Vec error = counted - number;
        nonzero += counts;
        flushed += counts & (as_ints(code) == 0);
        saturated += counts & (scaled > Format::kLargestNumber);
        nonfinite += ~finite;
        squares += counted * counted;
        errors += error * error;
    }
    return {sum_counts(nonzero),   sum_counts(flushed), sum_counts(saturated),
            sum_counts(nonfinite), sum_lanes(squares),  sum_lanes(errors)};
}

// 0 for a NaN.
template <typename T>
RM_INLINE Vec sizes_of(const T* x) {
    const VecU bits = bits_of(load(x)) & kSize;
    const VecI is_nan = as_ints(bits) > static_cast<std::int32_t>(kInfinity);
    return as_floats(select_bits(is_nan, VecU{}, bits));
}

template <typename T>
float largest(const T* x, std::ptrdiff_t size) {
    Vec most{};
    for (std::ptrdiff_t i = 0; i < size; i += kWidth)
        most = max(most, sizes_of(x + i));
    return max_lanes(most);
}

template <typename T>
void larger(const T* x, float* sizes, std::ptrdiff_t size) {
    for (std::ptrdiff_t i = 0; i < size; i += kWidth)
        store(sizes + i, max(load(sizes + i), sizes_of(x + i)));
}

template <typename Format, typename T>
simd::Fp8FormatLoops<T> format_loops() {
    return {.round = round<Format, T>,
            .round_each = round_each<Format, T>,
            .widen = widen<Format, T>,
            .widen_each = widen_each<Format, T>,
            .observe = observe<Format, T>};
}
template <typename T>
simd::Fp8Loops<T> loops_of() {
    return {.largest = largest<T>,
            .larger = larger<T>,
            .e4m3 = format_loops<E4m3, T>(),
            .e5m2 = format_loops<E5m2, T>()};
}

}  // namespace

simd::Fp8Loops<float> fp8_f32() {
    return loops_of<float>();
}
simd::Fp8Loops<Bf16> fp8_bf16() {
    return loops_of<Bf16>();
}

}  // namespace rm::RM_SIMD
