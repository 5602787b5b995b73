#include "base/usize.h"
#include "kernels/cpu/simd/attention_tile.h"
#include "kernels/cpu/simd/product_parts.h"
#include "kernels/cpu/simd/tile_loops.h"
#include "kernels/cpu/simd/tile_unit.h"

// Attention forward and backward over bf16 in tiles of a matrix unit. Packed tokens: `rows` (64,
// units of D), `columns` (units of D, 64) and `sums` (units of 64 tokens, D), padded with zeros. A
// query has its columns; kv has k as rows and v as sums; query_bwd has q and d_out as columns, then
// both as sums; kv_bwd has k and v as rows, then k as sums.
namespace rm::RM_SIMD {
namespace {

constexpr std::ptrdiff_t kTile = 2 * kSide;          // side of a block of products
constexpr std::ptrdiff_t kTokenUnits = kTokens / 2;  // pairs of tokens
constexpr std::ptrdiff_t kScores = kTokens * kTokens;
static_assert(kTokens % kTile == 0 && simd::kAttentionAlign == kSide && kSide % kWidth == 0);

// The units that D takes, a whole number of steps.
RM_INLINE std::ptrdiff_t row_units(std::ptrdiff_t D) {
    return align((D + 1) / 2);
}

class PackedTokens {
public:
    PackedTokens(const float* from, std::ptrdiff_t D) : from_(from), size_(kTokens * align(D)) {}
    const float* operator[](std::ptrdiff_t i) const { return from_ + i * size_; }

private:
    const float* from_ = nullptr;
    std::ptrdiff_t size_ = 0;
};

RM_INLINE const Bf16* row_at(const simd::AttentionTokens& tokens, std::ptrdiff_t row) {
    return static_cast<const Bf16*>(tokens.data) + row * tokens.stride;
}

void pack_rows(const simd::AttentionTokens& tokens, float* to) {
    const auto used = usize(tokens.D) * sizeof(Bf16);
    const auto padded = usize(row_units(tokens.D)) * sizeof(float);
    for (std::ptrdiff_t row = 0; row < kTokens; ++row, to += row_units(tokens.D)) {
        const std::size_t from = row < tokens.count ? used : 0;
        if (from > 0) __builtin_memcpy(to, row_at(tokens, row), from);
        __builtin_memset(reinterpret_cast<char*>(to) + from, 0, padded - from);
    }
}

// The next pairs of a row; past `count` numbers they are zero.
RM_INLINE Vec load_pairs(const Bf16* from, std::ptrdiff_t count) {
    Vec value{};
    if (count >= 2 * kWidth) {
        __builtin_memcpy(&value, from, sizeof(value));
    } else if (count > 0) {
        __builtin_memcpy(&value, from, usize(count) * sizeof(Bf16));
    }
    return value;
}

void pack_columns(const simd::AttentionTokens& tokens, float* to) {
    for (std::ptrdiff_t row = 0; row < kTokens; row += kWidth) {
        for (std::ptrdiff_t u = 0; u < row_units(tokens.D); u += kWidth) {
            Vec square[kWidth];
            for (int i = 0; i < kWidth; ++i) {
                const std::ptrdiff_t count = row + i < tokens.count ? tokens.D - 2 * u : 0;
                square[i] = count > 0 ? load_pairs(row_at(tokens, row + i) + 2 * u, count) : Vec{};
            }
            transpose_square(square);
            for (int i = 0; i < kWidth; ++i)
                store(to + (u + i) * kTokens + row, square[i]);
        }
    }
}

void pack_sums(const simd::AttentionTokens& tokens, float* to) {
    const std::ptrdiff_t width = align(tokens.D);
    const auto numbers = [&](std::ptrdiff_t row, std::ptrdiff_t d) __attribute__((always_inline)) {
        return row < tokens.count ? load_some(row_at(tokens, row) + d, tokens.D - d) : Vec{};
    };
    for (std::ptrdiff_t row = 0; row < kTokens; row += 2) {
        for (std::ptrdiff_t d = 0; d < width; d += kWidth)
            store_words(to + row / 2 * width + d, words_of(numbers(row, d), numbers(row + 1, d)));
    }
}

void pack_query(const simd::AttentionTokens& q, float* to) {
    pack_columns(q, to);
}
void pack_kv(const simd::AttentionTokens& k, const simd::AttentionTokens& v, float* to) {
    pack_rows(k, to);
    pack_sums(v, to + kTokens * align(k.D));
}
void pack_query_bwd(const simd::AttentionTokens& q, const simd::AttentionTokens& d_out, float* to) {
    const std::ptrdiff_t tile = kTokens * align(q.D);
    pack_columns(q, to);
    pack_columns(d_out, to + tile);
    pack_sums(q, to + 2 * tile);
    pack_sums(d_out, to + 3 * tile);
}
void pack_kv_bwd(const simd::AttentionTokens& k, const simd::AttentionTokens& v, float* to) {
    const std::ptrdiff_t tile = kTokens * align(k.D);
    pack_rows(k, to);
    pack_rows(v, to + tile);
    pack_sums(k, to + 2 * tile);
}

// Products (keys, queries) of `rows` with `columns`, in the blocks that some query sees; the others
// become zero.
template <typename Tile>
void score(TileUnit& unit, const Tile& tile, const float* rows, const float* columns, float* to) {
    const std::ptrdiff_t units = row_units(tile.D);
    for (std::ptrdiff_t query = 0; query < kTokens; query += kTile) {
        const std::ptrdiff_t seen = keys_seen_by(tile, query + kTile - 1);
        for (std::ptrdiff_t key = 0; key < kTokens; key += kTile) {
            float* block = to + key * kTokens + query;
            if (key < seen) {
                tile_block<2, 2>(unit, {rows + key * units, units}, {columns + query, kTokens},
                                 {0, units / kSide}, block, kTokens, Sums::from_zero);
                continue;
            }
            for (std::ptrdiff_t r = 0; r < kTile; ++r)
                __builtin_memset(block + r * kTokens, 0, kTile * sizeof(float));
        }
    }
}

// (pairs of 64, 64) becomes (64, pairs of 64).
void transpose_pairs(const float* from, float* to) {
    for (std::ptrdiff_t u = 0; u < kTokenUnits; u += kWidth) {
        for (std::ptrdiff_t row = 0; row < kTokens; row += kWidth) {
            Vec square[kWidth];
            for (int i = 0; i < kWidth; ++i)
                square[i] = load(from + (u + i) * kTokens + row);
            transpose_square(square);
            for (int i = 0; i < kWidth; ++i)
                store(to + (row + i) * kTokenUnits + u, square[i]);
        }
    }
}

// take(row, column, sums) for vectors of left (rows, 64 tokens) x right (64 tokens, width), summed
// over the steps of a block of rows.
template <typename StepsOf, typename Take>
RM_INLINE void sum_over_tokens(TileUnit& unit, const float* left, const float* right,
                               std::ptrdiff_t rows, std::ptrdiff_t width, const StepsOf& steps_of,
                               const Take& take) {
    alignas(64) float block[kTile * kTile];
    for (std::ptrdiff_t row = 0; row < rows; row += kTile) {
        const Steps steps = steps_of(row);
        if (steps.first >= steps.last) continue;
        const Units a{left + row * kTokenUnits, kTokenUnits};
        for (std::ptrdiff_t n = 0; n < width; n += kTile) {
            const std::ptrdiff_t columns = min(kTile, width - n);
            if (columns == kTile) {
                tile_block<2, 2>(unit, a, {right + n, width}, steps, block, kTile, Sums::from_zero);
            } else {
                tile_block<2, 1>(unit, a, {right + n, width}, steps, block, kTile, Sums::from_zero);
            }
            for (std::ptrdiff_t r = 0; r < min(kTile, rows - row); ++r) {
                for (std::ptrdiff_t c = 0; c < columns; c += kWidth)
                    take(row + r, n + c, load(block + r * kTile + c));
            }
        }
    }
}

// The steps over keys that a block of queries needs.
template <typename Tile>
RM_INLINE Steps seen_by_block(const Tile& tile, std::ptrdiff_t query) {
    return {0, (keys_seen_by(tile, query + kTile - 1) + kStep - 1) / kStep};
}

// The scores of a vector of queries, -inf where a query does not see the key.
RM_INLINE Vec seen_scores(const simd::AttentionFwdTile& tile, std::ptrdiff_t query,
                          std::ptrdiff_t key) {
    const Vec score = load(tile.p + key * kTokens + query);
    if (key < keys_seen_by(tile, query)) return score;
    return select(lanes_that_see(tile, query, key), score, splat(-kInf));
}

// Raises m to the highest score, turns scores into pairs of probabilities relative to it, in place,
// and adds them to l. `keep` becomes the factor by which what was summed before shrinks.
RM_INLINE void exponentiate(const simd::AttentionFwdTile& tile, std::ptrdiff_t query, float* keep) {
    const float scale = tile.scale * kLog2E;
    const std::ptrdiff_t seen = keys_seen_by(tile, query + kWidth - 1);
    Vec highest = splat(-kInf);
    for (std::ptrdiff_t key = 0; key < seen; ++key)
        highest = max(seen_scores(tile, query, key), highest);
    const RaisedMaximum raised = raise_maximum(tile, query, highest * scale, keep);
    const Vec finite = raised.finite, kept = raised.kept;
    Vec sum{};
    const auto next = [&](std::ptrdiff_t key) __attribute__((always_inline)) {
        if (key >= seen) return Vec{};
        const Vec p = exp2_fast(seen_scores(tile, query, key) * scale - finite);
        sum += p;
        return p;
    };
    // A row of pairs is written when its scores and all before have been read.
    for (std::ptrdiff_t key = 0; key < kTokens; key += 2) {
        const Vec first = next(key), second = next(key + 1);
        store_words(tile.p + key / 2 * kTokens + query, words_of(first, second));
    }
    store(tile.l + query, load(tile.l + query) * kept + sum);
}

void forward(const simd::AttentionFwdTile& tile) {
    TileUnit unit;
    const std::ptrdiff_t width = align(tile.D);
    const PackedTokens kv(tile.kv, tile.D);
    float keep[kTokens];
    score(unit, tile, kv[0], tile.query, tile.p);
    for (std::ptrdiff_t query = 0; query < kTokens; query += kWidth)
        exponentiate(tile, query, keep);
    float* const p = tile.p + kTokenUnits * kTokens;  // (queries, pairs of keys)
    transpose_pairs(tile.p, p);
    const auto merge = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
        __attribute__((always_inline)) {
        float* to = tile.acc + row * width + column;
        store(to, load(to) * keep[row] + sums);
    };
    const auto steps = [&](std::ptrdiff_t row) { return seen_by_block(tile, row); };
    sum_over_tokens(unit, p, kv[1], tile.rows, width, steps, merge);
}

// Scores become probabilities, and the products of d_out and v become d_s.
RM_INLINE void differentiate(const simd::AttentionBwdTile& tile, std::ptrdiff_t query, float* p,
                             float* d_s) {
    const float scale = tile.scale * kLog2E;
    const Vec lse = load(tile.lse + query), rest = load(tile.lse_rest + query);
    const Vec delta = load(tile.delta + query);
    for (std::ptrdiff_t key = 0; key < kTokens; ++key) {
        const std::ptrdiff_t at = key * kTokens + query;
        const VecI seen = key < tile.keys ? lanes_that_see(tile, query, key) : VecI{};
        const Vec all = exp2_fast(load(p + at) * scale - lse - rest);
        store(p + at, select(seen, all, Vec{}));
        store(d_s + at, select(seen, all * (load(d_s + at) - delta), Vec{}));
    }
}

// (keys, queries) rounded: rows of pairs of queries.
void round_rows(const float* from, float* to) {
    auto* numbers = reinterpret_cast<Bf16*>(to);
    for (std::ptrdiff_t i = 0; i < kScores; i += kWidth)
        store(numbers + i, load(from + i));
}
// (keys, queries) rounded: (pairs of keys, queries).
void round_pairs(const float* from, float* to) {
    for (std::ptrdiff_t key = 0; key < kTokens; key += 2) {
        for (std::ptrdiff_t query = 0; query < kTokens; query += kWidth) {
            const float* at = from + key * kTokens + query;
            store_words(to + key / 2 * kTokens + query, words_of(load(at), load(at + kTokens)));
        }
    }
}

// d_q += scale d_s k, d_k += scale d_s^T q, d_v += p^T d_out
void backward(const simd::AttentionBwdTile& tile) {
    TileUnit unit;
    const std::ptrdiff_t width = align(tile.D);
    const PackedTokens query(tile.query, tile.D), kv(tile.kv, tile.D);
    float *p = tile.p, *d_s = p + kScores, *rows = d_s + kScores, *pairs = rows + kScores / 2;
    float *d_s_rows = pairs + kScores / 2, *d_s_columns = d_s_rows + kScores / 2;
    score(unit, tile, kv[0], query[0], p);
    score(unit, tile, kv[1], query[1], d_s);
    for (std::ptrdiff_t first = 0; first < kTokens; first += kWidth)
        differentiate(tile, first, p, d_s);
    round_rows(p, rows);
    round_rows(d_s, d_s_rows);
    round_pairs(d_s, pairs);
    transpose_pairs(pairs, d_s_columns);
    const auto add = [&](float* to, std::ptrdiff_t stride, float factor)
        __attribute__((always_inline)) {
        return [ =, D = tile.D ](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
            __attribute__((always_inline)) {
            float* at = to + row * stride + column;
            store_some(at, load_some(at, D - column) + sums * factor, D - column);
        };
    };
    const auto queries = [&](std::ptrdiff_t key) {
        return Steps{min(first_query_that_sees(tile, key) / kStep, kTokens / kStep),
                     (tile.rows + kStep - 1) / kStep};
    };
    const auto keys = [&](std::ptrdiff_t row) { return seen_by_block(tile, row); };
    sum_over_tokens(unit, rows, query[3], tile.keys, width, queries,
                    add(tile.d_v, tile.kv_stride, 1));
    sum_over_tokens(unit, d_s_rows, query[2], tile.keys, width, queries,
                    add(tile.d_k, tile.kv_stride, tile.scale));
    sum_over_tokens(unit, d_s_columns, kv[2], tile.rows, width, keys,
                    add(tile.d_q, tile.q_stride, tile.scale));
}

}  // namespace

simd::AttentionLoops attention_in_tiles(const simd::AttentionLoops& bf16) {
    return {.kv_bwd = 3,
            .pack_query = pack_query,
            .pack_kv = pack_kv,
            .forward = forward,
            .forward_8bit = bf16.forward_8bit,
            .pack_query_bwd = pack_query_bwd,
            .pack_kv_bwd = pack_kv_bwd,
            .backward = backward,
            .scale = bf16.scale,
            .dot = bf16.dot};
}

}  // namespace rm::RM_SIMD
