#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/simd/fp8_loops.h"
#include "kernels/cpu/simd/product_loops.h"

// The inner loops of the CPU backend, compiled once per instruction set and chosen when the backend
// is made. Plain structs and pointers only: the compiled copies share no inline function with the
// rest of the program. Rows are contiguous; strides count elements.
namespace rm::simd {

using Bf16 = std::uint16_t;

// Both sides of an attention step, and sums over rows, are handled in tiles of 64, counted from the
// first row (of a call or of a run): cutting a call at a multiple of 64 changes no bit.
constexpr std::ptrdiff_t kTileRows = 64;

// Attention works on packed tiles of up to 64 tokens of one head, in a layout that only the loops
// know. Packed rows are as wide as D rounded up to a multiple of 16; what fills them up is zero.
constexpr std::ptrdiff_t kAttentionAlign = 16;
constexpr std::ptrdiff_t kAttentionBwdScratch = 4;
struct AttentionTokens {
    const void* data = nullptr;  // (count, D), of the table's element type
    std::ptrdiff_t stride = 0;   // elements
    std::ptrdiff_t count = 0;
    std::ptrdiff_t D = 0;
};

// One query tile against one key-value tile. Row r sees the first `first_limit + r` keys, clamped
// to [0, keys].
struct AttentionFwdTile {
    std::ptrdiff_t rows = 0, keys = 0, D = 0;
    std::ptrdiff_t first_limit = 0;
    float scale = 1;
    const float* query = nullptr;  // of pack_query
    const float* kv = nullptr;     // of pack_kv
    float* acc = nullptr;          // (64, width)
    float* m = nullptr;            // (64), in powers of two: log2(e) times the highest score
    float* l = nullptr;            // (64)
    float* p = nullptr;            // scratch of 64 x 64
};
// Likewise in 8 bits (kernels/attention_8bit.h), with codes as f32 numbers: query (width, 64), and
// kv k (64, width), then v (64, width).
struct AttentionFwd8Tile : AttentionFwdTile {
    const float* query_scale = nullptr;  // (64)
    const float* centre = nullptr;       // (64): the queries' products with the centre of the keys
    float k_scale = 1, v_scale = 1;
};
struct AttentionBwdTile {
    std::ptrdiff_t rows = 0, keys = 0, D = 0;
    std::ptrdiff_t first_limit = 0;
    float scale = 1;
    const float* query = nullptr;  // of pack_query_bwd
    const float* kv = nullptr;     // of pack_kv_bwd
    // (64) each: lse in powers of two as a sum of two numbers, because one would cost the
    // probabilities of high scores several bits. +inf where a row saw no key.
    const float* lse = nullptr;
    const float* lse_rest = nullptr;
    const float* delta = nullptr;  // (64)
    float* d_q = nullptr;          // (rows, D), summed into
    float* d_k = nullptr;          // (keys, D), summed into
    float* d_v = nullptr;          // (keys, D), summed into
    std::ptrdiff_t q_stride = 0, kv_stride = 0;
    float* p = nullptr;  // scratch of kAttentionBwdScratch x 64 x 64
};

// For activations of one type. Packed sizes are in tiles of 64 x width floats.
struct AttentionLoops {
    static constexpr std::ptrdiff_t kQuery = 1, kKv = 2, kQueryBwd = 4;
    std::ptrdiff_t kv_bwd = 0;
    void (*pack_query)(const AttentionTokens& q, float* to);
    void (*pack_kv)(const AttentionTokens& k, const AttentionTokens& v, float* to);
    void (*forward)(const AttentionFwdTile& tile);
    void (*forward_8bit)(const AttentionFwd8Tile& tile);
    void (*pack_query_bwd)(const AttentionTokens& q, const AttentionTokens& d_out, float* to);
    void (*pack_kv_bwd)(const AttentionTokens& k, const AttentionTokens& v, float* to);
    void (*backward)(const AttentionBwdTile& tile);
    // One row of `size`, in the table's element type: out = factor * acc; the product of x and y.
    void (*scale)(const float* acc, float factor, void* out, std::ptrdiff_t size);
    float (*dot)(const void* x, const void* y, std::ptrdiff_t size);
};

struct AdamWStep {
    float learning_rate = 0, eps = 0, weight_decay = 0;
    float beta1 = 0, beta2 = 0;
    float rest1 = 1, rest2 = 1;              // 1 - beta
    float correction1 = 1, correction2 = 1;  // 1 / (1 - beta^step)
    float grad_factor = 1;                   // clipping
};

// Loops over tensors that store T: float or bf16.
template <typename T>
struct RowLoops {
    void (*add)(const T* x, T* y, std::ptrdiff_t size);                      // y += x
    void (*accumulate)(const T* x, float* sum, std::ptrdiff_t size);         // sum += x
    void (*scale)(const float* x, float factor, T* y, std::ptrdiff_t size);  // y = factor * x
    void (*widen)(const T* x, float* y, std::ptrdiff_t size);
    void (*round)(const float* x, T* y, std::ptrdiff_t size);

    // One row; returns rstd.
    float (*rmsnorm_fwd)(const T* x, const float* weight, float eps, T* y, std::ptrdiff_t C);
    // One row; d_x and d_weight are summed into.
    void (*rmsnorm_bwd)(const T* d_y, const T* x, const float* weight, float rstd, T* d_x,
                        float* d_weight, std::ptrdiff_t C);
    // Rotates (x[i], x[i + half]) by the angle whose cosine and sine are given; sign is 1 or -1.
    void (*rotate)(T* x, const float* cos, const float* sin, float sign, std::ptrdiff_t half);
    void (*swiglu_fwd)(const T* gate, const T* up, T* h, std::ptrdiff_t size);
    void (*swiglu_bwd)(const T* d_h, const T* gate, const T* up, T* d_gate, T* d_up,
                       std::ptrdiff_t size);
    Fp8Loops<T> fp8;
};

struct Loops {
    const char* name;
    ProductLoops f32;      // f32 operands
    ProductLoops widened;  // bf16 operands, multiplied as f32
    ProductLoops pairs;  // bf16 operands, multiplied in pairs or tiles; null where the CPU does not

    AttentionLoops attention_f32;
    AttentionLoops attention_widened;  // bf16, multiplied as f32
    AttentionLoops attention_pairs;    // bf16, in pairs or tiles; null where the CPU does not

    RowLoops<float> rows_f32;
    RowLoops<Bf16> rows_bf16;

    double (*sum_squares)(const float* x, std::ptrdiff_t size);
    // logits (V) become exp(logits - max); returns their sum and the maximum.
    float (*exp_row)(float* logits, std::ptrdiff_t V, float* max);
    void (*adamw)(const AdamWStep& step, float* weight, const float* grad, float* m, float* v,
                  std::ptrdiff_t size);
};

// The loops of one width; null when this CPU cannot run them. The base ones run everywhere, and so
// does the model of tiles: base loops, and products of bf16 as a CPU with AMX sums them.
enum class Width { base, avx2, avx512, avx512_bf16, amx, tile_model };
const Loops* find_loops(Width width);

// Whether this CPU multiplies pairs of bf16 faster than as many f32. Intel's CPUs since Sapphire
// Rapids do not: they take one instruction in two cycles, where two f32 ones go in each.
bool has_fast_pairs();

}  // namespace rm::simd
