#pragma once

#include <cstddef>

// Matrix products of one kind of numbers, compiled once per instruction set.
//
// Every element of a result is one chain of multiply-adds in f32 over the depth in ascending order:
// its bits depend neither on the other rows and columns nor on blocks. Where the depth is tokens
// the chain begins with what the result held, so that a call may be cut anywhere (with pairs of
// bf16, at even tokens; with tiles, at multiples of 32 tokens).
namespace rm::simd {

// A call takes at most this many rows, and ProductRows this many columns; larger products are cut
// by the caller.
constexpr std::ptrdiff_t kProductRows = 256;
constexpr std::ptrdiff_t kProductColumns = 512;
// Columns are packed, and cut, at multiples of this.
constexpr std::ptrdiff_t kPackColumns = 64;

enum class Type { f32, bf16 };  // of stored numbers

// Columns [first, first + columns) of y = or += x B, with B (K, N) packed. Strides count elements.
struct ProductRows {
    std::ptrdiff_t rows = 0, K = 0;
    std::ptrdiff_t first = 0, columns = 0;
    const void* x = nullptr;  // (rows, K)
    std::ptrdiff_t x_stride = 0;
    const void* packed = nullptr;  // all of B
    void* y = nullptr;             // (rows, N)
    std::ptrdiff_t y_stride = 0;
    Type y_type = Type::f32;
    bool add = false;
    float* scratch = nullptr;
};

// out (rows, columns) += a^T b over `depth` tokens.
struct ProductOfColumns {
    std::ptrdiff_t rows = 0, columns = 0, depth = 0;
    const void* a = nullptr;  // (depth, rows)
    std::ptrdiff_t a_stride = 0;
    const void* b = nullptr;  // (depth, columns)
    std::ptrdiff_t b_stride = 0;
    float* out = nullptr;
    std::ptrdiff_t out_stride = 0;
    float* scratch = nullptr;
};

// A matrix B (K, N) by strides, one of which is 1: element (k, n) is data[k * k_stride + n *
// n_stride].
struct MatrixView {
    const void* data = nullptr;
    Type type = Type::f32;  // bf16 only where that is what is packed
    std::ptrdiff_t k_stride = 0, n_stride = 0;
};

struct ProductLoops {
    std::ptrdiff_t scratch;  // floats
    std::ptrdiff_t (*packed_bytes)(std::ptrdiff_t K, std::ptrdiff_t N);
    // Packs columns [first, last) of B (K, N); `first` is a multiple of kPackColumns.
    void (*pack)(const MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t first, std::ptrdiff_t last,
                 void* packed);
    void (*rows)(const ProductRows& op);
    void (*columns)(const ProductOfColumns& op);
};

}  // namespace rm::simd
