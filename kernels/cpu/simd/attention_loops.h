#pragma once

#include "kernels/cpu/simd/attention_pack.h"
#include "kernels/cpu/simd/attention_tile.h"

// Attention forward and backward on packed tiles, for either unit. Packed: query (units of D, 64);
// kv k (64, units of D), v (units of 64, D); query_bwd q and d_out as (units of D, 64), then both
// as (units of 64, D); kv_bwd k and v as (64, units of D), then, where that is another layout, k as
// (units of 64, D).
namespace rm::RM_SIMD {

struct PackedTiles {
    PackedTiles(const float* from, std::ptrdiff_t D) : from_(from), size_(kTokens * align(D)) {}
    const float* operator[](std::ptrdiff_t i) const { return from_ + i * size_; }

private:
    const float* from_ = nullptr;
    std::ptrdiff_t size_ = 0;
};

template <typename Unit>
constexpr std::ptrdiff_t kKeySums = Unit::kNumbers == 1 ? 0 : 2;  // where kv_bwd has k for sums

template <typename Unit, typename T>
void pack_query(const simd::AttentionTokens& q, float* to) {
    pack_columns<Unit, T>(q, to);
}
template <typename Unit, typename T>
void pack_kv(const simd::AttentionTokens& k, const simd::AttentionTokens& v, float* to) {
    pack_rows<Unit, T>(k, to);
    pack_sums<Unit, T>(v, to + kTokens * align(k.D));
}
template <typename Unit, typename T>
void pack_query_bwd(const simd::AttentionTokens& q, const simd::AttentionTokens& d_out, float* to) {
    const std::ptrdiff_t tile = kTokens * align(q.D);
    pack_columns<Unit, T>(q, to);
    pack_columns<Unit, T>(d_out, to + tile);
    pack_sums<Unit, T>(q, to + 2 * tile);
    pack_sums<Unit, T>(d_out, to + 3 * tile);
}
template <typename Unit, typename T>
void pack_kv_bwd(const simd::AttentionTokens& k, const simd::AttentionTokens& v, float* to) {
    const std::ptrdiff_t tile = kTokens * align(k.D);
    pack_rows<Unit, T>(k, to);
    pack_rows<Unit, T>(v, to + tile);
    if constexpr (kKeySums<Unit> != 0) pack_sums<Unit, T>(k, to + kKeySums<Unit> * tile);
}

// Products (keys, 64) of the rows of `a` with the columns of `b`, as far as a panel of queries sees
// keys: in whole blocks of them. write(key, query, value).
template <typename Unit, typename Tile, typename Write>
RM_INLINE void score_panel(const Tile& tile, const float* a, const float* b, std::ptrdiff_t query,
                           const Write& write) {
    const std::ptrdiff_t seen = keys_seen_by(tile, query + kMicroColumns - 1);
    const auto all = [&](std::ptrdiff_t) __attribute__((always_inline)) {
        return Span{0, units<Unit>(tile.D)};
    };
    const auto write_at = [&](std::ptrdiff_t key, std::ptrdiff_t column, Vec value)
        __attribute__((always_inline)) {
        write(key, query + column, value);
    };
    product<Unit>({a, row_units<Unit>(tile.D), 1}, {b + query, kTokens},
                  (seen + kBlockRows - 1) / kBlockRows * kBlockRows, kMicroColumns, all, write_at);
}

// The units of keys that a block of queries sees.
template <typename Unit, typename Tile>
RM_INLINE Span seen_by_block(const Tile& tile, std::ptrdiff_t query) {
    return {0, units<Unit>(keys_seen_by(tile, query + kBlockRows - 1))};
}

// Raises m to the highest score seen, turns the scores of a vector of queries into probabilities
// relative to it, (units of keys, 64), and adds them to l. `keep` becomes the factor by which what
// was summed before shrinks: exactly 1 where m did not rise.
template <typename Unit, typename Tile>
RM_INLINE void exponentiate(const Tile& tile, std::ptrdiff_t query, Vec highest, float* keep) {
    const float scale = tile.scale * kLog2E;
    const std::ptrdiff_t seen = keys_seen_by(tile, query + kWidth - 1);
    const RaisedMaximum raised = raise_maximum(tile, query, highest * scale, keep);
    const Vec finite = raised.finite, kept = raised.kept;
    Vec sum{};
    const auto next = [&](std::ptrdiff_t key) __attribute__((always_inline)) {
        const Vec p = exp2_fast(load(tile.p + key * kTokens + query) * scale - finite);
        sum += p;
        return rounded(tile, p);
    };
    if constexpr (Unit::kNumbers == 1) {
        for (std::ptrdiff_t key = 0; key < seen; ++key)
            store(tile.p + key * kTokens + query, next(key));
    } else {
        // In place: a row of pairs is written when its scores and all before have been read.
        for (std::ptrdiff_t key = 0; key < seen; key += 2) {
            const Vec first = next(key), second = key + 1 < seen ? next(key + 1) : Vec{};
            store(tile.p + key / 2 * kTokens + query, Unit::join(first, second));
        }
    }
    store(tile.l + query, load(tile.l + query) * kept + sum);
}

template <typename Unit, typename Tile>
RM_INLINE void forward_panel(const Tile& tile, const float* k, std::ptrdiff_t first, float* keep) {
    Vec highest[kMicroVecs];
    for (Vec& each : highest)
        each = splat(-kInf);
    const auto raise = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec score)
        __attribute__((always_inline)) {
        Vec& high = highest[(at - first) / kWidth];
        high = max(score, high);
        store(tile.p + key * kTokens + at, score);
    };
    const auto write = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec product)
        __attribute__((always_inline)) {
        raise(key, at, score_of(tile, at, product));
    };
    const auto write_masked = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec product)
        __attribute__((always_inline)) {
        if (key >= tile.keys) return;
        const Vec score = score_of(tile, at, product);
        raise(key, at, select(lanes_that_see(tile, at, key), score, splat(-kInf)));
    };
    if (keys_seen_by(tile, first) == tile.keys && tile.keys % kBlockRows == 0) {
        score_panel<Unit>(tile, k, tile.query, first, write);
    } else {
        score_panel<Unit>(tile, k, tile.query, first, write_masked);
    }
    for (int i = 0; i < kMicroVecs; ++i)
        exponentiate<Unit>(tile, first + i * kWidth, highest[i], keep);
}

template <typename Unit, typename Tile>
void forward(const Tile& tile) {
    const std::ptrdiff_t width = align(tile.D);
    const PackedTiles kv(tile.kv, tile.D);
    float keep[kTokens];
    for (std::ptrdiff_t first = 0; first < kTokens; first += kMicroColumns)
        forward_panel<Unit>(tile, kv[0], first, keep);
    const auto depth = [&](std::ptrdiff_t row) __attribute__((always_inline)) {
        return seen_by_block<Unit>(tile, row);
    };
    const auto merge = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
        __attribute__((always_inline)) {
        float* to = tile.acc + row * width + column;
        store(to, load(to) * keep[row] + weighed(tile, sums));
    };
    product<Unit>({tile.p, 1, kTokens}, {kv[1], width}, tile.rows, width, depth, merge);
}

// p = softmax probabilities, then d_s = p * (d_out v^T - delta), (keys, 64), of a panel of queries.
template <typename Unit, bool masked>
RM_INLINE void backward_panel(const simd::AttentionBwdTile& tile, const PackedTiles& query,
                              const PackedTiles& kv, std::ptrdiff_t first, float* d_s) {
    const float scale = tile.scale * kLog2E;
    const auto write_p = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec score)
        __attribute__((always_inline)) {
        Vec p = exp2_fast(score * scale - load(tile.lse + at) - load(tile.lse_rest + at));
        if (masked) {
            const VecI seen = lanes_that_see(tile, at, key);
            p = select(key < tile.keys ? seen : VecI{}, p, Vec{});
        }
        store(tile.p + key * kTokens + at, p);
    };
    const auto write_d_s = [&](std::ptrdiff_t key, std::ptrdiff_t at, Vec d_p)
        __attribute__((always_inline)) {
        const Vec p = load(tile.p + key * kTokens + at);
        store(d_s + key * kTokens + at, p * (d_p - load(tile.delta + at)));
    };
    score_panel<Unit>(tile, kv[0], query[0], first, write_p);
    score_panel<Unit>(tile, kv[1], query[1], first, write_d_s);
}

// Scores as the left operands of sums over queries, (keys, units of 64), and over keys,
// (64, units of keys).
struct ScoreOperands {
    Left over_queries, over_keys;
};
RM_INLINE ScoreOperands operands_of_floats(const float* scores) {
    return {{scores, kTokens, 1}, {scores, 1, kTokens}};
}
// Rounds to bf16. Pairs that no query sees are not initialised and no product reads them.
template <typename Unit>
RM_INLINE ScoreOperands operands_of_pairs(const float* scores, float* over_queries,
                                          float* over_keys) {
    for (std::ptrdiff_t key = 0; key < kTokens; key += 2) {
        for (std::ptrdiff_t query = 0; query < kTokens; query += kWidth) {
            const float* at = scores + key * kTokens + query;
            const Vec first = load(at), second = load(at + kTokens);
            auto* rows = reinterpret_cast<Bf16*>(over_queries) + key * kTokens + query;
            store(rows, first);
            store(rows + kTokens, second);
            store(over_keys + key / 2 * kTokens + query, Unit::join(first, second));
        }
    }
    return {{over_queries, kTokens / 2, 1}, {over_keys, 1, kTokens}};
}

// Adds a product to an output whose rows are `stride` apart.
RM_INLINE void add_to(float* to, Vec sums, std::ptrdiff_t count) {
    if (count >= kWidth) return store(to, load(to) + sums);
    if (count > 0) store_first(to, load_first(to, count) + sums, count);
}

// d_q += scale d_s k, d_k += scale d_s^T q, d_v += p^T d_out
template <typename Unit>
RM_INLINE void add_gradients(const simd::AttentionBwdTile& tile, const PackedTiles& query,
                             const PackedTiles& kv, const Left& p, const ScoreOperands& d_s) {
    const std::ptrdiff_t width = align(tile.D);
    const auto add = [&](float* to, std::ptrdiff_t stride, float factor)
        __attribute__((always_inline)) {
        return [ =, D = tile.D ](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
            __attribute__((always_inline)) {
            add_to(to + row * stride + column, sums * factor, D - column);
        };
    };
    const auto queries = [&](std::ptrdiff_t key) __attribute__((always_inline)) {
        return Span{first_query_that_sees(tile, key) / Unit::kNumbers, units<Unit>(tile.rows)};
    };
    const auto keys = [&](std::ptrdiff_t row) __attribute__((always_inline)) {
        return seen_by_block<Unit>(tile, row);
    };
    product<Unit>(p, {query[3], width}, tile.keys, width, queries,
                  add(tile.d_v, tile.kv_stride, 1));
    product<Unit>(d_s.over_queries, {query[2], width}, tile.keys, width, queries,
                  add(tile.d_k, tile.kv_stride, tile.scale));
    product<Unit>(d_s.over_keys, {kv[kKeySums<Unit>], width}, tile.rows, width, keys,
                  add(tile.d_q, tile.q_stride, tile.scale));
}

template <typename Unit>
void backward(const simd::AttentionBwdTile& tile) {
    const PackedTiles query(tile.query, tile.D), kv(tile.kv, tile.D);
    constexpr std::ptrdiff_t kSize = kTokens * kTokens;
    float *p = tile.p, *d_s = p + kSize;
    for (std::ptrdiff_t first = 0; first < kTokens; first += kMicroColumns) {
        if (keys_seen_by(tile, first) == kTokens) {
            backward_panel<Unit, false>(tile, query, kv, first, d_s);
        } else {
            backward_panel<Unit, true>(tile, query, kv, first, d_s);
        }
    }
    if constexpr (Unit::kNumbers == 1) {
        add_gradients<Unit>(tile, query, kv, operands_of_floats(p).over_queries,
                            operands_of_floats(d_s));
    } else {
        float *rows = d_s + kSize, *pairs = rows + kSize;
        const Left p_rows = operands_of_pairs<Unit>(p, rows, pairs).over_queries;
        add_gradients<Unit>(tile, query, kv, p_rows,
                            operands_of_pairs<Unit>(d_s, rows + kSize / 2, pairs));
    }
}

// One row, in T: out = factor * acc.
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
        sum += load_units<Float>(static_cast<const T*>(x) + i, size - i) *
               load_units<Float>(static_cast<const T*>(y) + i, size - i);
    }
    return sum_lanes(sum);
}

template <typename Unit, typename T>
simd::AttentionLoops attention_loops() {
    return {.kv_bwd = 2 + (kKeySums<Unit> != 0),
            .pack_query = pack_query<Unit, T>,
            .pack_kv = pack_kv<Unit, T>,
            .forward = forward<Unit, simd::AttentionFwdTile>,
            .forward_8bit = forward<Float, simd::AttentionFwd8Tile>,
            .pack_query_bwd = pack_query_bwd<Unit, T>,
            .pack_kv_bwd = pack_kv_bwd<Unit, T>,
            .backward = backward<Unit>,
            .scale = scale_row<T>,
            .dot = dot_rows<T>};
}

}  // namespace rm::RM_SIMD
