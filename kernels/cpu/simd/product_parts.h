#pragma once

#include "kernels/cpu/simd/product_loops.h"
#include "kernels/cpu/simd/transpose.h"

// How matrix products of every kind bring operands in and results out. Panels are `panel` columns
// wide.
namespace rm::RM_SIMD {

RM_INLINE std::ptrdiff_t min(std::ptrdiff_t a, std::ptrdiff_t b) {
    return a < b ? a : b;
}
RM_INLINE std::ptrdiff_t round_up(std::ptrdiff_t value, std::ptrdiff_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

// `count` numbers, zero where there are none: count may be negative or larger than a vector.
template <typename T>
RM_INLINE Vec load_some(const T* from, std::ptrdiff_t count) {
    if (count >= kWidth) return load(from);
    return count > 0 ? load_first(from, count) : Vec{};
}
template <typename T>
RM_INLINE void store_some(T* to, Vec value, std::ptrdiff_t count) {
    if (count >= kWidth) return store(to, value);
    if (count > 0) store_first(to, value, count);
}

// Rows of f32 or bf16 become rows of f32, `width` of each valid and the rest of the last vector
// zero.
template <typename T>
void copy_rows(const T* from, std::ptrdiff_t from_stride, std::ptrdiff_t rows, std::ptrdiff_t width,
               float* to, std::ptrdiff_t to_stride) {
    for (std::ptrdiff_t r = 0; r < rows; ++r) {
        for (std::ptrdiff_t c = 0; c < width; c += kWidth) {
            // Rows are far apart: memory does not see the next ones coming.
            __builtin_prefetch(from + (r + 8) * from_stride + c);
            store(to + r * to_stride + c, load_some(from + r * from_stride + c, width - c));
        }
    }
}

RM_INLINE VecU words_of(Vec first, Vec second) {
    const VecU low = __builtin_convertvector(narrow(first), VecU);
    return low | __builtin_convertvector(narrow(second), VecU) << 16;
}
RM_INLINE void store_words(void* to, VecU words) {
    store(static_cast<float*>(to), reinterpret_cast<Vec>(words));
}

enum class Sum { none, with_y };

// One panel of a result: the result itself where it may hold the sums on their way, or a copy.
template <typename T, std::ptrdiff_t panel>
class OutPanel {
public:
    OutPanel(T* y, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t columns, float* copy)
        : y_(y), stride_(stride), rows_(rows), columns_(columns), copy_(copy) {}

    static bool fits(std::ptrdiff_t columns) {
        return sizeof(T) == sizeof(float) && columns >= panel;
    }
    float* data() const { return copy_ ? copy_ : reinterpret_cast<float*>(y_); }
    std::ptrdiff_t stride() const { return copy_ ? panel : stride_; }
    void fetch() const {
        if (copy_) copy_rows(y_, stride_, rows_, columns_, copy_, panel);
    }
    void put(Sum sum) const {
        if (!copy_) return;
        for (std::ptrdiff_t r = 0; r < rows_; ++r) {
            for (std::ptrdiff_t c = 0; c < min(panel, columns_); c += kWidth) {
                T* to = y_ + r * stride_ + c;
                Vec value = load(copy_ + r * panel + c);
                if (sum == Sum::with_y) value += load_some(to, columns_ - c);
                store_some(to, value, columns_ - c);
            }
        }
    }

private:
    T* y_;
    std::ptrdiff_t stride_, rows_, columns_;
    float* copy_;  // (rows, panel), or null
};

// A square of B, from (k, n): `count_k` by `count_n` of it exist. `along_k`: whether numbers that
// follow each other in memory follow each other along K.
enum class Along { k, n };

template <Along along, typename From>
RM_INLINE void load_square(const simd::MatrixView& b, std::ptrdiff_t k, std::ptrdiff_t n,
                           std::ptrdiff_t count_k, std::ptrdiff_t count_n, Vec (&rows)[kWidth]) {
    const From* from = static_cast<const From*>(b.data) + k * b.k_stride + n * b.n_stride;
    const std::ptrdiff_t ahead = 2 * kWidth * b.k_stride, stride = b.k_stride + b.n_stride - 1;
    for (int i = 0; i < kWidth; ++i) {
        __builtin_prefetch(from + ahead + i * stride);
        if (along == Along::n) {
            rows[i] = i < count_k ? load_some(from + i * b.k_stride, count_n) : Vec{};
        } else {
            rows[i] = i < count_n ? load_some(from + i * b.n_stride, count_k) : Vec{};
        }
    }
    if (along == Along::k) transpose_square(rows);
}

// Calls write(k, column of the panel, square) for all of a panel; the rows of a square follow each
// other along K. Squares come in the order of memory, so that few streams are read at a time.
template <Along along, std::ptrdiff_t panel, typename From, typename Write>
RM_INLINE void for_squares(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t n,
                           std::ptrdiff_t last, const Write& write) {
    const auto visit = [&](std::ptrdiff_t k, std::ptrdiff_t c) __attribute__((always_inline)) {
        Vec square[kWidth];
        load_square<along, From>(b, k, n + c, K - k, last - n - c, square);
        write(k, c, square);
    };
    if (along == Along::k) {
        for (std::ptrdiff_t c = 0; c < panel; c += kWidth) {
            for (std::ptrdiff_t k = 0; k < K; k += kWidth)
                visit(k, c);
        }
    } else {
        for (std::ptrdiff_t k = 0; k < K; k += kWidth) {
            for (std::ptrdiff_t c = 0; c < panel; c += kWidth)
                visit(k, c);
        }
    }
}

}  // namespace rm::RM_SIMD
