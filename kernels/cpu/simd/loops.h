#pragma once

#include <cstddef>
#include <cstdint>

// The inner loops of the CPU backend, compiled once per instruction set and chosen when the backend
// is made. Plain structs and pointers only: the compiled copies share no inline function with the
// rest of the program. All tensors are f32 and rows are contiguous; strides count floats.
namespace rm::simd {

// Rows of every matrix product and of both sides of an attention step are handled in tiles of 64,
// counted from the first row (of a call or of a run): cutting a call at a multiple of 64 changes no
// bit.
constexpr std::ptrdiff_t kTileRows = 64;

// Attention works on packed tiles of up to 64 tokens of one head, in a layout that only the loops
// know. Packed rows are as wide as D rounded up to a multiple of 16; what fills them up is zero.
constexpr std::ptrdiff_t kAttentionAlign = 16;
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
struct AttentionBwdTile {
    std::ptrdiff_t rows = 0, keys = 0, D = 0;
    std::ptrdiff_t first_limit = 0;
    float scale = 1;
    const float* query = nullptr;  // of pack_query_bwd
    const float* kv = nullptr;     // of pack_kv_bwd
    const float* lse = nullptr;    // (64), in powers of two; +inf where a row saw no key
    const float* delta = nullptr;  // (64)
    float* d_q = nullptr;          // (rows, D), summed into
    float* d_k = nullptr;          // (keys, D), summed into
    float* d_v = nullptr;          // (keys, D), summed into
    std::ptrdiff_t q_stride = 0, kv_stride = 0;
    float* p = nullptr;  // scratch of 2 x 64 x 64
};

// For one element type. Packed sizes are in tiles of 64 x width floats.
struct AttentionLoops {
    static constexpr std::ptrdiff_t kQuery = 1, kKv = 2, kQueryBwd = 4, kKvBwd = 2;
    void (*pack_query)(const AttentionTokens& q, float* to);
    void (*pack_kv)(const AttentionTokens& k, const AttentionTokens& v, float* to);
    void (*forward)(const AttentionFwdTile& tile);
    void (*pack_query_bwd)(const AttentionTokens& q, const AttentionTokens& d_out, float* to);
    void (*pack_kv_bwd)(const AttentionTokens& k, const AttentionTokens& v, float* to);
    void (*backward)(const AttentionBwdTile& tile);
    // One row of `size`, in the table's element type: out = factor * acc; the product of x and y.
    void (*scale)(const float* acc, float factor, void* out, std::ptrdiff_t size);
    float (*dot)(const void* x, const void* y, std::ptrdiff_t size);
};

// y (rows, N) = or += x (rows, K) times a packed weight; rows <= 64. `scratch` has gemm_scratch
// floats.
struct GemmRows {
    std::ptrdiff_t rows = 0, N = 0, K = 0;
    const float* x = nullptr;
    std::ptrdiff_t x_stride = 0;
    const float* packed = nullptr;  // of pack_columns
    float* y = nullptr;
    std::ptrdiff_t y_stride = 0;
    bool add = false;
    float* scratch = nullptr;
};

// out (rows, N) += a^T b over `depth` tokens, in blocks of 64 of them; rows <= 64.
struct OuterProduct {
    std::ptrdiff_t rows = 0, N = 0, depth = 0;
    const float* a = nullptr;  // (depth, rows)
    std::ptrdiff_t a_stride = 0;
    const float* b = nullptr;  // (depth, N)
    std::ptrdiff_t b_stride = 0;
    float* out = nullptr;
    std::ptrdiff_t out_stride = 0;
    float* scratch = nullptr;  // outer_scratch floats
};

struct AdamWStep {
    float learning_rate = 0, eps = 0, weight_decay = 0;
    float beta1 = 0, beta2 = 0;
    float rest1 = 1, rest2 = 1;              // 1 - beta
    float correction1 = 1, correction2 = 1;  // 1 / (1 - beta^step)
    float grad_factor = 1;                   // clipping
};

struct Loops {
    const char* name;
    std::ptrdiff_t gemm_scratch;   // floats
    std::ptrdiff_t outer_scratch;  // floats

    // to[c * to_stride + r] = from[r * from_stride + c]; columns of `to` past `rows` up to `padded`
    // become zero.
    void (*transpose)(const float* from, std::ptrdiff_t from_stride, std::ptrdiff_t rows,
                      std::ptrdiff_t columns, float* to, std::ptrdiff_t to_stride,
                      std::ptrdiff_t padded);

    std::ptrdiff_t (*packed_size)(std::ptrdiff_t K, std::ptrdiff_t N);  // floats
    // Packs columns [first, last) of B (K, N), given as `b[k * k_stride + n * n_stride]`, for
    // gemm_rows. `first` is a multiple of 64.
    void (*pack_columns)(const float* b, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride,
                         std::ptrdiff_t K, std::ptrdiff_t first, std::ptrdiff_t last,
                         float* packed);
    void (*gemm_rows)(const GemmRows& op);
    void (*outer_product)(const OuterProduct& op);

    AttentionLoops attention_f32;
    AttentionLoops attention_bf16;

    float (*dot)(const float* x, const float* y, std::ptrdiff_t size);
    double (*sum_squares)(const float* x, std::ptrdiff_t size);
    void (*add)(const float* x, float* y, std::ptrdiff_t size);                  // y += x
    void (*scale)(const float* x, float factor, float* y, std::ptrdiff_t size);  // y = factor * x

    // One row; returns rstd.
    float (*rmsnorm_fwd)(const float* x, const float* weight, float eps, float* y,
                         std::ptrdiff_t C);
    // One row; d_x and d_weight are summed into.
    void (*rmsnorm_bwd)(const float* d_y, const float* x, const float* weight, float rstd,
                        float* d_x, float* d_weight, std::ptrdiff_t C);
    // Rotates (x[i], x[i + half]) by the angle whose cosine and sine are given; sign is 1 or -1.
    void (*rotate)(float* x, const float* cos, const float* sin, float sign, std::ptrdiff_t half);
    void (*swiglu_fwd)(const float* gate, const float* up, float* h, std::ptrdiff_t size);
    void (*swiglu_bwd)(const float* d_h, const float* gate, const float* up, float* d_gate,
                       float* d_up, std::ptrdiff_t size);
    // logits (V) become exp(logits - max); returns their sum and the maximum.
    float (*exp_row)(float* logits, std::ptrdiff_t V, float* max);
    void (*adamw)(const AdamWStep& step, float* weight, const float* grad, float* m, float* v,
                  std::ptrdiff_t size);
};

// The loops of one width; null when this CPU cannot run them. The base ones run everywhere.
enum class Width { base, avx2, avx512, avx512_bf16 };
const Loops* find_loops(Width width);

}  // namespace rm::simd
