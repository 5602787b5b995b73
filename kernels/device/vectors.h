#pragma once

#include "kernels/device/numbers.h"

// Several numbers moved by one access, as floats in registers: 16 bytes are 8 bf16 or 4 floats. A
// width of 1 is for rows that are not aligned to that.
namespace rm::device {

// The words of one access; may stand for numbers of any type.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) [[gnu::may_alias]] Words {
    T x[kCount];
};

// bf16 as they lie in memory.
template <int kWidth>
struct PackedWords {
    using Type = Words<std::uint32_t, kWidth / 2>;
};
template <>
struct PackedWords<1> {
    using Type = Words<std::uint16_t, 1>;
};
template <int kWidth>
using Packed = typename PackedWords<kWidth>::Type;

template <int kWidth>
SIMT_FN Packed<kWidth> load_packed(const std::uint16_t* p) {
    return *reinterpret_cast<const Packed<kWidth>*>(p);
}
template <int kWidth>
SIMT_FN void unpack(const Packed<kWidth>& packed, float (&x)[kWidth]) {
    if constexpr (kWidth == 1) {
        x[0] = from_bf16(packed.x[0]);
    } else {
        SIMT_UNROLL
        for (int i = 0; i < kWidth / 2; ++i) {
            x[2 * i] = low_bf16(packed.x[i]);
            x[2 * i + 1] = high_bf16(packed.x[i]);
        }
    }
}

template <int kWidth>
SIMT_FN void load(const std::uint16_t* p, float (&x)[kWidth]) {
    unpack<kWidth>(load_packed<kWidth>(p), x);
}
template <int kWidth>
SIMT_FN void store(std::uint16_t* p, const float (&x)[kWidth]) {
    if constexpr (kWidth == 1) {
        *p = to_bf16(x[0]);
    } else {
        Packed<kWidth> packed;
        SIMT_UNROLL
        for (int i = 0; i < kWidth / 2; ++i)
            packed.x[i] = pack_bf16(x[2 * i], x[2 * i + 1]);
        *reinterpret_cast<Packed<kWidth>*>(p) = packed;
    }
}

template <int kWidth>
SIMT_FN void load(const float* p, float (&x)[kWidth]) {
    if constexpr (kWidth == 1) {
        x[0] = *p;
    } else {
        static_assert(kWidth % 4 == 0);
        SIMT_UNROLL
        for (int i = 0; i < kWidth; i += 4) {
            const auto words = *reinterpret_cast<const Words<float, 4>*>(p + i);
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j)
                x[i + j] = words.x[j];
        }
    }
}
template <int kWidth>
SIMT_FN void store(float* p, const float (&x)[kWidth]) {
    if constexpr (kWidth == 1) {
        *p = x[0];
    } else {
        static_assert(kWidth % 4 == 0);
        SIMT_UNROLL
        for (int i = 0; i < kWidth; i += 4) {
            Words<float, 4> words;
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j)
                words.x[j] = x[i + j];
            *reinterpret_cast<Words<float, 4>*>(p + i) = words;
        }
    }
}

// f64 is for scalars and tests.
SIMT_FN void load(const double* p, float (&x)[1]) {
    x[0] = static_cast<float>(*p);
}
SIMT_FN void store(double* p, const float (&x)[1]) {
    *p = x[0];
}

// A kernel whose blocks share no memory: what a launch asks of it (kernels/cuda/launch.h).
template <int kNumThreads, int kNumBlocks>
struct PlainKernel {
    static constexpr int kThreads = kNumThreads;
    static constexpr int kMinBlocks = kNumBlocks;
    struct Shared {};
};

// body(i) for all i in [0, count), by all threads of the grid; neighbours take neighbours.
template <int kThreads, typename Body>
SIMT_FN void for_each(std::int64_t count, const Body& body) {
    const std::int64_t step = static_cast<std::int64_t>(simt::grid_x()) * kThreads;
    const std::int64_t first = static_cast<std::int64_t>(simt::block_x()) * kThreads;
    for (std::int64_t i = first + simt::thread(); i < count; i += step)
        body(i);
}

template <int kValue>
struct Width {
    static constexpr int value = kValue;
};

// body(Width<kWidth>, first) for whole vectors of [0, count), then body(Width<1>, i) for the rest.
template <int kThreads, int kWidth, typename Body>
SIMT_FN void for_each_vector(std::int64_t count, const Body& body) {
    const std::int64_t vectors = count / kWidth;
    for_each<kThreads>(vectors, [&](std::int64_t i) { body(Width<kWidth>(), i * kWidth); });
    if constexpr (kWidth > 1) {
        const std::int64_t done = vectors * kWidth;
        for_each<kThreads>(count - done, [&](std::int64_t i) { body(Width<1>(), done + i); });
    }
}

}  // namespace rm::device
