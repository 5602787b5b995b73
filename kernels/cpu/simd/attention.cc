#include "kernels/cpu/simd/attention_pack.h"
#include "kernels/cpu/simd/attention_tile.h"
#include "kernels/cpu/simd/loops_here.h"

// Attention in f32 products; bf16 is widened as it is packed. Packed tiles: query (width, 64); kv
// k (64, width), v (64, width); query_bwd q and d_out as (width, 64), then both as (64, width);
// kv_bwd as kv.
namespace rm::RM_SIMD {
namespace {

struct Packed {
    std::ptrdiff_t width = 0;
    const float* tiles = nullptr;
    const float* operator[](std::ptrdiff_t i) const { return tiles + i * kTokens * width; }
};

template <typename T>
void pack_query(const simd::AttentionTokens& q, float* to) {
    pack_columns_of<T>(q, to);
}
template <typename T>
void pack_kv(const simd::AttentionTokens& k, const simd::AttentionTokens& v, float* to) {
    pack_rows<T>(k, to);
    pack_rows<T>(v, to + kTokens * width_of(k.D));
}
template <typename T>
void pack_query_bwd(const simd::AttentionTokens& q, const simd::AttentionTokens& d_out, float* to) {
    const std::ptrdiff_t tile = kTokens * width_of(q.D);
    pack_columns_of<T>(q, to);
    pack_columns_of<T>(d_out, to + tile);
    pack_rows<T>(q, to + 2 * tile);
    pack_rows<T>(d_out, to + 3 * tile);
}

// Products (keys, 64) of the rows of `a` with the columns of `b`, as far as a panel of queries sees
// keys: in whole blocks of them. write(key, query, value).
template <typename Tile, typename Write>
RM_INLINE void score_panel(const Tile& tile, const float* a, std::ptrdiff_t width, const float* b,
                           std::ptrdiff_t query, const Write& write) {
    const std::ptrdiff_t seen = keys_seen_by(tile, query + kMicroColumns - 1);
    const auto all = [&](std::ptrdiff_t) __attribute__((always_inline)) {
        return Span{0, tile.D};
    };
    const auto write_at = [&](std::ptrdiff_t key, std::ptrdiff_t column, Vec value)
        __attribute__((always_inline)) {
        write(key, query + column, value);
    };
    product<Floats>({a, width, 1}, {b + query, kTokens},
                    (seen + kBlockRows - 1) / kBlockRows * kBlockRows, kMicroColumns, all,
                    write_at);
}

// Raises m to the highest score seen, turns the scores into probabilities relative to it and adds
// them to l. `keep` becomes the factor by which what was summed before shrinks.
RM_INLINE void exponentiate(const simd::AttentionFwdTile& tile, std::ptrdiff_t query, Vec highest,
                            float* keep) {
    const float scale = tile.scale * kLog2E;
    const std::ptrdiff_t seen = keys_seen_by(tile, query + kWidth - 1);
    const Vec before = load(tile.m + query);
    const Vec m = max(before, highest * scale);
    store(tile.m + query, m);
    // A row that has seen nothing yet stays at -inf. `keep` is exactly 1 where m did not rise.
    const Vec finite = select(m == -kInf, Vec{}, m);
    const Vec kept = exp2_vec(before - finite);
    store(keep + query, kept);
    Vec sum{};
    for (std::ptrdiff_t key = 0; key < seen; ++key) {
        float* at = tile.p + key * kTokens + query;
        const Vec p = exp2_fast(load(at) * scale - finite);
        store(at, p);
        sum += p;
    }
    store(tile.l + query, load(tile.l + query) * kept + sum);
}

RM_INLINE void forward_panel(const simd::AttentionFwdTile& tile, const Packed& query,
                             const Packed& kv, std::ptrdiff_t first, float* keep) {
    Vec highest[kMicroVecs];
    for (Vec& each : highest)
        each = splat(-kInf);
    const auto write = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec score)
        __attribute__((always_inline)) {
        Vec& high = highest[(at - first) / kWidth];
        high = max(score, high);
        store(tile.p + key * kTokens + at, score);
    };
    const auto write_masked = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec score)
        __attribute__((always_inline)) {
        if (key < tile.keys)
            write(key, at, select(lanes_that_see(tile, at, key), score, splat(-kInf)));
    };
    if (keys_seen_by(tile, first) == tile.keys && tile.keys % kBlockRows == 0) {
        score_panel(tile, kv[0], kv.width, query[0], first, write);
    } else {
        score_panel(tile, kv[0], kv.width, query[0], first, write_masked);
    }
    for (int i = 0; i < kMicroVecs; ++i)
        exponentiate(tile, first + i * kWidth, highest[i], keep);
}

void forward(const simd::AttentionFwdTile& tile) {
    const std::ptrdiff_t width = width_of(tile.D);
    const Packed query{width, tile.query}, kv{width, tile.kv};
    float keep[kTokens];
    for (std::ptrdiff_t first = 0; first < kTokens; first += kMicroColumns)
        forward_panel(tile, query, kv, first, keep);
    const auto seen_by_block = [&](std::ptrdiff_t row) __attribute__((always_inline)) {
        return Span{0, keys_seen_by(tile, row + kBlockRows - 1)};
    };
    const auto merge = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
        __attribute__((always_inline)) {
        float* to = tile.acc + row * width + column;
        store(to, load(to) * keep[row] + sums);
    };
    product<Floats>({tile.p, 1, kTokens}, {kv[1], width}, tile.rows, width, seen_by_block, merge);
}

// p = softmax probabilities, then d_s = p * (d_out v^T - delta), for a panel of queries.
template <bool masked>
RM_INLINE void backward_panel(const simd::AttentionBwdTile& tile, const Packed& query,
                              const Packed& kv, std::ptrdiff_t first, float* d_s) {
    const float scale = tile.scale * kLog2E;
    const auto write_p = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec score)
        __attribute__((always_inline)) {
        Vec p = exp2_fast(score * scale - load(tile.lse + at));
        if (masked) p = select(lanes_that_see(tile, at, key), p, Vec{});
        store(tile.p + key * kTokens + at, p);
    };
    const auto write_d_s = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec d_p)
        __attribute__((always_inline)) {
        const Vec p = load(tile.p + key * kTokens + at);
        store(d_s + key * kTokens + at, p * (d_p - load(tile.delta + at)));
    };
    score_panel(tile, kv[0], kv.width, query[0], first, write_p);
    score_panel(tile, kv[1], kv.width, query[1], first, write_d_s);
}

// Adds a product to an output whose rows are `stride` apart.
RM_INLINE void add_to(float* to, Vec sums, std::ptrdiff_t count) {
    if (count >= kWidth) return store(to, load(to) + sums);
    if (count > 0) store_first(to, load_first(to, count) + sums, count);
}

void backward(const simd::AttentionBwdTile& tile) {
    const std::ptrdiff_t width = width_of(tile.D), D = tile.D;
    const Packed query{width, tile.query}, kv{width, tile.kv};
    float* d_s = tile.p + kTokens * kTokens;
    for (std::ptrdiff_t first = 0; first < kTokens; first += kMicroColumns) {
        if (keys_seen_by(tile, first) == kTokens) {
            backward_panel<false>(tile, query, kv, first, d_s);
        } else {
            backward_panel<true>(tile, query, kv, first, d_s);
        }
    }
    const auto add = [&](float* to, std::ptrdiff_t stride, float factor)
        __attribute__((always_inline)) {
        return [=](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
            __attribute__((always_inline)) {
            add_to(to + row * stride + column, sums * factor, D - column);
        };
    };
    const auto seen_by_block = [&](std::ptrdiff_t row) __attribute__((always_inline)) {
        return Span{0, keys_seen_by(tile, row + kBlockRows - 1)};
    };
    const auto that_see_block = [&](std::ptrdiff_t key) __attribute__((always_inline)) {
        return Span{first_query_that_sees(tile, key), tile.rows};
    };
    product<Floats>({tile.p, kTokens, 1}, {query[3], width}, tile.keys, width, that_see_block,
                    add(tile.d_v, tile.kv_stride, 1));
    product<Floats>({d_s, kTokens, 1}, {query[2], width}, tile.keys, width, that_see_block,
                    add(tile.d_k, tile.kv_stride, tile.scale));
    product<Floats>({d_s, 1, kTokens}, {kv[0], width}, tile.rows, width, seen_by_block,
                    add(tile.d_q, tile.q_stride, tile.scale));
}

template <typename T>
void scale_row(const float* acc, float factor, void* out, std::ptrdiff_t size) {
    auto* to = static_cast<T*>(out);
    std::ptrdiff_t i = 0;
    for (; i + kWidth <= size; i += kWidth)
        store(to + i, load(acc + i) * factor);
    if (i < size) store_first(to + i, load_first(acc + i, size - i) * factor, size - i);
}
template <typename T>
float dot_rows(const void* x, const void* y, std::ptrdiff_t size) {
    Vec sum{};
    for (std::ptrdiff_t i = 0; i < size; i += kWidth) {
        const std::ptrdiff_t count = size - i;
        sum += load_some(static_cast<const T*>(x) + i, count) *
               load_some(static_cast<const T*>(y) + i, count);
    }
    return sum_lanes(sum);
}

template <typename T>
simd::AttentionLoops loops_of() {
    return {.pack_query = pack_query<T>,
            .pack_kv = pack_kv<T>,
            .forward = forward,
            .pack_query_bwd = pack_query_bwd<T>,
            .pack_kv_bwd = pack_kv<T>,
            .backward = backward,
            .scale = scale_row<T>,
            .dot = dot_rows<T>};
}

}  // namespace

simd::AttentionLoops attention_f32() {
    return loops_of<float>();
}
simd::AttentionLoops attention_bf16() {
    return loops_of<Bf16>();
}

}  // namespace rm::RM_SIMD
