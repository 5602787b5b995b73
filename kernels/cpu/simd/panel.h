#pragma once

#include "kernels/cpu/simd/vec.h"

// The register-blocked heart of every matrix product: a few rows of A times one panel of B, as wide
// as the accumulators that the registers hold.
namespace rm::RM_SIMD {

#if defined(__AVX512F__)
constexpr int kPanelVecs = 4;  // 6 x 4 accumulators of 32 registers
#else
constexpr int kPanelVecs = 2;  // 6 x 2 accumulators of 16 registers
#endif
constexpr int kPanelRows = 6;
constexpr int kPanel = kPanelVecs * kWidth;

// One step of a chain: a number of A with a vector of B.
struct F32Terms {
    using Number = float;
    static constexpr std::ptrdiff_t kDepth = 1;  // of K that a step takes
    RM_INLINE Vec chain(Vec sum, Vec a, Vec b) { return sum + a * b; }
    RM_INLINE Vec everywhere(const float* from) { return splat(*from); }
    RM_INLINE Vec vector(const float* from) { return load(from); }
};

#if defined(__AVX512BF16__)
// Two bf16 numbers that follow each other along the depth.
struct NumberPair {
    Bf16 first, second;
};
struct PairTerms {
    using Number = NumberPair;
    static constexpr std::ptrdiff_t kDepth = 2;
    RM_INLINE Vec chain(Vec sum, VecI a, VecI b) { return add_pairs(sum, a, b); }
    RM_INLINE VecI everywhere(const NumberPair* from) {
        return splat(*reinterpret_cast<const IntInMemory*>(from));
    }
    RM_INLINE VecI vector(const NumberPair* from) {
        return *reinterpret_cast<const VecIInMemory*>(from);
    }
};
#endif

// Where number (row, step) of A lies.
struct RowMajor {
    std::ptrdiff_t stride;
    std::ptrdiff_t at(std::ptrdiff_t row, std::ptrdiff_t step) const { return row * stride + step; }
};
// The rows of one block of accumulators lie together, step after step: a block reads one stream.
constexpr int kGroup = 8;  // numbers of a step, kPanelRows of them used
struct Grouped {
    std::ptrdiff_t group;  // numbers of all steps
    std::ptrdiff_t at(std::ptrdiff_t row, std::ptrdiff_t step) const {
        return row / kPanelRows * group + step * kGroup + row % kPanelRows;
    }
};

enum class Begin { zero, loaded };

// c (rows, kPanel) = or += A (rows, steps) B (steps, kPanel)
template <typename Terms, int rows, typename Layout>
RM_INLINE void micro_panel(const typename Terms::Number* a, Layout layout,
                           const typename Terms::Number* b, std::ptrdiff_t steps, float* c,
                           std::ptrdiff_t c_stride, Begin begin) {
    Vec sum[rows][kPanelVecs];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int j = 0; j < kPanelVecs; ++j)
            sum[r][j] = begin == Begin::zero ? Vec{} : load(c + r * c_stride + j * kWidth);
    }
    // The next rows of the result are wanted when these are done.
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int j = 0; j < kPanelVecs; ++j)
            __builtin_prefetch(c + (rows + r) * c_stride + j * kWidth, 1);
    }
    for (std::ptrdiff_t k = 0; k < steps; ++k) {
        decltype(Terms::vector(b)) b_row[kPanelVecs];
#pragma GCC unroll 4
        for (int j = 0; j < kPanelVecs; ++j) {
            // Panels stream from the second cache: ask for what comes eight steps later.
            __builtin_prefetch(b + (k + 8) * kPanel + j * kWidth);
            b_row[j] = Terms::vector(b + k * kPanel + j * kWidth);
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            const auto value = Terms::everywhere(a + layout.at(r, k));
#pragma GCC unroll 4
            for (int j = 0; j < kPanelVecs; ++j)
                sum[r][j] = Terms::chain(sum[r][j], value, b_row[j]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (int j = 0; j < kPanelVecs; ++j)
            store(c + r * c_stride + j * kWidth, sum[r][j]);
    }
}

// The same for any number of rows.
template <typename Terms, typename Layout>
void panel_product(const typename Terms::Number* a, Layout layout, const typename Terms::Number* b,
                   std::ptrdiff_t rows, std::ptrdiff_t steps, float* c, std::ptrdiff_t c_stride,
                   Begin begin) {
    const auto some = [&]<int count>(std::ptrdiff_t row) __attribute__((always_inline)) {
        micro_panel<Terms, count>(a + layout.at(row, 0), layout, b, steps, c + row * c_stride,
                                  c_stride, begin);
    };
    std::ptrdiff_t row = 0;
    for (; row + kPanelRows <= rows; row += kPanelRows)
        some.template operator()<kPanelRows>(row);
    switch (rows - row) {
        case 1:
            return some.template operator()<1>(row);
        case 2:
            return some.template operator()<2>(row);
        case 3:
            return some.template operator()<3>(row);
        case 4:
            return some.template operator()<4>(row);
        case 5:
            return some.template operator()<5>(row);
        default:
            return;
    }
}

}  // namespace rm::RM_SIMD
