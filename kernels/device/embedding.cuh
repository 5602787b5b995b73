#pragma once

#include "kernels/device/reduce.h"
#include "kernels/device/vectors.h"

// A table's rows by token, and the gradient of the table: deterministic, without a sort and without
// memory of its own. The table may be some rows of a vocabulary: tokens of the others give zeros
// and no gradient. A token outside the vocabulary gives NaN, which the loss shows, and no gradient.
namespace rm::device {

// The rows [first, first + rows) of a vocabulary of V: other tokens' are elsewhere.
struct EmbeddingRows {
    std::int64_t first;
    std::int64_t rows;
    std::int64_t V;
};

template <typename Table>
struct EmbeddingForwardParams {
    const std::int32_t* tokens;  // (T)
    const Table* table;          // (rows, C), f32 or bf16
    std::uint16_t* x;            // (T, C) bf16
    std::int64_t T;
    std::int64_t C;
    EmbeddingRows rows;
};
template <typename Table, int kWidth>
struct EmbeddingForward : PlainKernel<256, 4> {
    static constexpr const char* kName = kWidth == 1 ? "embedding_fwd_unaligned" : "embedding_fwd";
    using Params = EmbeddingForwardParams<Table>;

    SIMT_FN static void run(const Params& p, Shared&) {
        const std::int64_t per_row = p.C / kWidth;
        for_each<kThreads>(p.T * per_row, [&](std::int64_t i) {
            const std::int64_t t = i / per_row, c = (i - t * per_row) * kWidth;
            const std::int64_t token = p.tokens[t], at = token - p.rows.first;
            float row[kWidth];
            if (at >= 0 && at < p.rows.rows) {
                load(p.table + at * p.C + c, row);
            } else {
                const bool known = token >= 0 && token < p.rows.V;
                SIMT_UNROLL
                for (int j = 0; j < kWidth; ++j)
                    row[j] = known ? 0 : not_a_number();
            }
            store(p.x + t * p.C + c, row);
        });
    }
};

struct EmbeddingBackwardParams {
    const std::int32_t* tokens;  // (num_tokens), at most kMaxTokens
    const std::uint16_t* d_x;    // (num_tokens, C) bf16
    float* d_table;              // (rows, C), summed into
    int num_tokens;
    std::int64_t C;
    std::int64_t first;  // row of the whole table
    std::int64_t rows;
};
// Block x belongs to the token at x, of which it finds all occurrences; when x is the first, it
// adds their rows in order. Block y has a range of columns.
template <int kWidth>
struct EmbeddingBackward {
    static constexpr const char* kName = kWidth == 1 ? "embedding_bwd_unaligned" : "embedding_bwd";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    static constexpr int kMaxTokens = 32 * kThreads;  // a thread counts one word of the bit map
    static constexpr int kVectors = 2;                // of a thread
    static constexpr int kColumns = kThreads * kWidth * kVectors;
    struct Shared {
        std::uint32_t same[kMaxTokens / 32];  // one bit per token: is it this block's?
        int before[kThreads / 32];            // occurrences in the words of each warp, summed up
        std::uint16_t rows[kMaxTokens];       // where it occurs, ascending
    };
    using Params = EmbeddingBackwardParams;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const int mine = simt::block_x();
        const std::int32_t token = p.tokens[mine];
        const std::int64_t row = token - p.first;
        if (row < 0 || row >= p.rows) return;
        mark_occurrences(p, token, shared);
        simt::sync_block();
        const int count = list_occurrences(shared);
        if (shared.rows[0] != mine) return;
        add_rows(p, row, shared.rows, count);
    }

private:
    SIMT_FN static void mark_occurrences(const Params& p, std::int32_t token, Shared& shared) {
        for (int first = 0; first < kMaxTokens; first += kThreads) {
            const int t = first + simt::thread();
            std::uint32_t bits = 0;
            if (first < p.num_tokens) bits = simt::ballot(t < p.num_tokens && p.tokens[t] == token);
            if (simt::lane() == 0) shared.same[t / 32] = bits;
        }
    }

    // Every thread lists the bits of its word, behind those of the words before.
    SIMT_FN static int list_occurrences(Shared& shared) {
        std::uint32_t bits = shared.same[simt::thread()];
        int sum = simt::count_bits(bits);  // of this warp's words up to this one
        for (int distance = 1; distance < 32; distance *= 2) {
            const int other = simt::shfl_up(sum, distance);
            if (simt::lane() >= distance) sum += other;
        }
        if (simt::lane() == 31) shared.before[simt::warp()] = sum;
        const int own = simt::count_bits(bits);
        simt::sync_block();
        int at = sum - own, total = 0;
        for (int w = 0; w < kThreads / 32; ++w) {
            if (w < simt::warp()) at += shared.before[w];
            total += shared.before[w];
        }
        for (; bits != 0; bits &= bits - 1)
            shared.rows[at++] =
                static_cast<std::uint16_t>(simt::thread() * 32 + simt::lowest_bit(bits));
        simt::sync_block();
        return total;
    }

    SIMT_FN static void add_rows(const Params& p, std::int64_t row, const std::uint16_t* rows,
                                 int count) {
        SIMT_UNROLL
        for (int v = 0; v < kVectors; ++v) {
            const std::int64_t c = static_cast<std::int64_t>(simt::block_y()) * kColumns +
                                   (v * kThreads + simt::thread()) * kWidth;
            if (c < p.C) add_columns(p.d_x + c, p.C, rows, count, p.d_table + row * p.C + c);
        }
    }

    // Rows are loaded some at a time and added one after the other.
    SIMT_FN static void add_columns(const std::uint16_t* d_x, std::int64_t C,
                                    const std::uint16_t* rows, int count, float* d_row) {
        constexpr int kAtOnce = 8;
        float sum[kWidth];
        load(d_row, sum);
        int i = 0;
        for (; i + kAtOnce <= count; i += kAtOnce) {
            Packed<kWidth> loaded[kAtOnce];
            SIMT_UNROLL
            for (int j = 0; j < kAtOnce; ++j)
                loaded[j] = load_packed<kWidth>(d_x + rows[i + j] * C);
            SIMT_UNROLL
            for (int j = 0; j < kAtOnce; ++j)
                add(loaded[j], sum);
        }
        for (; i < count; ++i)
            add(load_packed<kWidth>(d_x + rows[i] * C), sum);
        store(d_row, sum);
    }
    SIMT_FN static void add(const Packed<kWidth>& packed, float (&sum)[kWidth]) {
        float x[kWidth];
        unpack<kWidth>(packed, x);
        SIMT_UNROLL
        for (int j = 0; j < kWidth; ++j)
            sum[j] += x[j];
    }
};

}  // namespace rm::device
