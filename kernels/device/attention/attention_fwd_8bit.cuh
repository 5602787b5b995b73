#pragma once

#include "kernels/device/attention/attention_8bit.cuh"
#include "kernels/device/attention/attention_forward_rows.cuh"

// Attention forward in 8 bits (SageAttention2, Zhang et al. 2024): scores are products of int8,
// summed in integers, and values are summed in e4m3. A block has one head of a tile of queries, a
// warp 16 of its rows with their state in registers; rounded keys and values stream through shared
// memory in blocks of 64, one ahead.
//
// The values of one step are summed from zero, 16 columns at a time, and then added to the state:
// tensor cores keep few bits of long sums in FP8. The arithmetic of a row is one softmax step per
// block of 64 keys, in local order, and depends on nothing else, as in attention_fwd.cuh.
namespace rm::device {

template <int kHead>
struct AttentionForward8Params : AttentionQueries {
    const KeyBlock<kHead>* blocks;  // (tiles of keys, Hk)
};

// A fragment of 16 x 16 numbers as one lane has it.
using LaneWords = Words<std::uint32_t, 4>;

// 16 queries: codes, and in shared memory what registers have no room for.
template <int kHead>
struct QueryCodes {
    std::uint32_t x[kHead / 32][4];
};
// Their numbers as they were, for the product with the centre of the keys: each lane finds what it
// wrote itself. It has four columns side by side, whatever columns mma.sync takes them for: so has
// the centre.
template <int kHead>
struct QueryNumbers {
    LaneWords x[kHead / 16][32];
    float scale[16];  // of the codes of each row
};

template <int kHead>
SIMT_FN void load(QueryCodes<kHead>& codes, QueryNumbers<kHead>& numbers,
                  const HeadRows<const std::uint16_t>& from) {
    const int lane = simt::lane();
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
        const int row = fragment_row(2 * r);
        int largest = 0;
        SIMT_UNROLL
        for (int j = 0; j < kHead / 16; ++j) {
            const int column = 16 * j + simt::lane() % 4 * 4;
            Words<std::uint32_t, 2> words{};
            if (row < from.count && column < from.D) words = load_packed<4>(from.at(row, column));
            SIMT_UNROLL
            for (int i = 0; i < 2; ++i) {
                const int low = size_bits(low_bf16(words.x[i]));
                const int high = size_bits(high_bf16(words.x[i]));
                largest = low > largest ? low : largest;
                largest = high > largest ? high : largest;
                numbers.x[j][lane].x[2 * i + r] = words.x[i];
            }
        }
        for (int mask = 1; mask < 4; mask *= 2) {
            const int other = simt::shfl_xor(largest, mask);
            largest = other > largest ? other : largest;
        }
        const CodeScale scale = int8_scale(static_cast<std::uint32_t>(largest));
        if (lane % 4 == 0) numbers.scale[row] = scale.of_codes;
        SIMT_UNROLL
        for (int j = 0; j < kHead / 16; ++j) {
            const LaneWords& words = numbers.x[j][lane];
            const std::uint32_t left = words.x[r], right = words.x[2 + r];
            codes.x[j / 2][j % 2 * 2 + r] =
                pack_codes(int8_code(low_bf16(left), scale.of_numbers),
                           int8_code(high_bf16(left), scale.of_numbers),
                           int8_code(low_bf16(right), scale.of_numbers),
                           int8_code(high_bf16(right), scale.of_numbers));
        }
    }
}

// Starts copying a whole tile that lies row after row, by all threads of the block.
template <int kThreads, int kRows, int kColumns>
SIMT_FN void copy_whole(SharedTile<kRows, kColumns>& to, const std::uint32_t* from) {
    constexpr int kChunks = kColumns / 8, kRowsPerRound = kThreads / kChunks;
    static_assert(kRows % kRowsPerRound == 0 && kRowsPerRound % 8 == 0,
                  "a thread's chunks are as far apart as their rows");
    std::uint16_t* first = &to.element(simt::thread() / kChunks, simt::thread() % kChunks * 8);
    SIMT_UNROLL
    for (int row = 0; row < kRows; row += kRowsPerRound)
        simt::cp_async_16(first + row * kColumns, from + simt::thread() * 4 + row * kColumns / 2);
}

template <int kHead, int kWarps>
struct AttentionForward8 {
    static constexpr const char* kName = "attention_fwd_8bit";
    static constexpr int kThreads = 32 * kWarps;
    static constexpr int kRows = 16 * kWarps;  // queries of a block
    static constexpr int kShift = 8;           // only probabilities up to 2^-18 become zero
    static constexpr int kMinBlocks = (kHead == 128 ? 8 : 12) / kWarps;
    static_assert(kHead == 64 || kHead == 128, "registers hold 16 rows of one head per warp");

    // A row of a tile is as many 16-bit elements as its codes are pairs.
    struct Shared {
        SharedTile<kBlockKeys, kHead / 2> k[2];
        SharedTile<kHead, kBlockKeys / 2> v[2];
        QueryNumbers<kHead> q[kWarps];
        BlockScales<kHead> scales[2];
        RunTile queries;
        int head, kv_head;
    };
    using Params = AttentionForward8Params<kHead>;
    using Scores = RegisterTile<kMmaRows, kBlockKeys>;
    struct Probabilities {
        std::uint32_t x[kBlockKeys / 32][4];
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        if (simt::thread() == 0) {
            const QueryTask task(p);
            shared.queries = tile_at<kRows>(p.q_runs, task.tile);
            shared.head = task.head;
            shared.kv_head = task.kv_head;
        }
        simt::sync_block();
        const RunTile& queries = shared.queries;
        KeyWalk<kBlockKeys> walk(p.kv_runs, queries);
        if (!walk.next()) return;  // the tile sees no key: the state stays
        copy(p, shared, 0, walk.tile());
        const WarpRows rows(queries);
        QueryCodes<kHead> q;
        load(q, shared.q[simt::warp()],
             head_rows(p.q, p.Hq, p.D, shared.head, rows.token, rows.count));
        ForwardState<kHead> state;
        load_state(state, p, shared.head, rows);

        bool more = true;
        for (int stage = 0; more; stage ^= 1) {
            const RunTile keys = walk.present();
            more = walk.next();
            simt::cp_async_wait<0>();
            simt::sync_block();
            if (more) copy(p, shared, stage ^ 1, walk.tile());
            if (!rows.see_any(keys)) continue;
            Scores scores;
            score(scores, q, shared, stage);
            if (!rows.see_all(keys, kBlockKeys)) hide_unseen(scores, rows, keys);
            RowValues<kMmaRows> keep;
            softmax_step<kShift>(scores, keep, state, p.scale_log2);
            Probabilities probabilities;
            round(probabilities, scores);
            add_values(state.acc, keep, probabilities, shared, stage);
        }
        store_state(state, p, shared.head, WarpRows(queries));  // read again, not kept
    }

    SIMT_FN static void copy(const Params& p, Shared& to, int stage, int tile) {
        const KeyBlock<kHead>& from = p.blocks[tile * p.Hk + to.kv_head];
        copy_whole<kThreads>(to.k[stage], from.k);
        copy_whole<kThreads>(to.v[stage], from.v);
        constexpr int kChunks = sizeof(BlockScales<kHead>) / 16;
        static_assert(kChunks <= kThreads);
        if (simt::thread() < kChunks) {
            simt::cp_async_16(reinterpret_cast<char*>(&to.scales[stage]) + 16 * simt::thread(),
                              reinterpret_cast<const char*>(&from.scales) + 16 * simt::thread());
        }
        simt::cp_async_commit();
    }

    // q k^T: codes with codes, and the queries with the centre that was taken from the keys. All
    // columns of the second product are the same.
    SIMT_FN static void score(Scores& scores, const QueryCodes<kHead>& q, Shared& shared,
                              int stage) {
        const QueryNumbers<kHead>& numbers = shared.q[simt::warp()];
        const BlockScales<kHead>& scales = shared.scales[stage];
        std::int32_t sums[kBlockKeys / kMmaColumns][4] = {};
        SIMT_UNROLL
        for (int k = 0; k < kHead / 32; ++k) {
            SIMT_UNROLL
            for (int n = 0; n < kBlockKeys / 16; ++n) {
                std::uint32_t b[4];
                load_fragments_bt(b, shared.k[stage].at(0, 0), k * 16, n * 16);
                const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
                simt::mma_s8(sums[2 * n], q.x[k], left);
                simt::mma_s8(sums[2 * n + 1], q.x[k], right);
            }
        }
        float centre[4] = {};
        SIMT_UNROLL
        for (int j = 0; j < kHead / 16; ++j) {
            const auto words = load_packed<4>(scales.centre + 16 * j + simt::lane() % 4 * 4);
            simt::mma_bf16(centre, numbers.x[j][simt::lane()].x, words.x);
        }
        const float factors[2] = {numbers.scale[fragment_row(0)] * scales.k,
                                  numbers.scale[fragment_row(2)] * scales.k};
        SIMT_UNROLL
        for (int j = 0; j < kBlockKeys / kMmaColumns; ++j) {
            SIMT_UNROLL
            for (int e = 0; e < 4; ++e)
                scores.x[0][j][e] =
                    fmaf(static_cast<float>(sums[j][e]), factors[e / 2], centre[e / 2 * 2]);
        }
    }

    // The codes of probabilities, keys in the order of first_key().
    SIMT_FN static void round(Probabilities& to, const Scores& from) {
        SIMT_UNROLL
        for (int k = 0; k < kBlockKeys / 32; ++k) {
            SIMT_UNROLL
            for (int e = 0; e < 4; ++e) {
                const float* left = &from.x[0][4 * k + e / 2 * 2][e % 2 * 2];
                const float* right = &from.x[0][4 * k + e / 2 * 2 + 1][e % 2 * 2];
                to.x[k][e] = simt::round_e4m3x2(left[0], left[1]) |
                             simt::round_e4m3x2(right[0], right[1]) << 16;
            }
        }
    }

    // acc = acc keep + p v
    SIMT_FN static void add_values(RegisterTile<kMmaRows, kHead>& acc,
                                   const RowValues<kMmaRows>& keep, const Probabilities& p,
                                   Shared& shared, int stage) {
        const float factor = shared.scales[stage].v / (1 << kShift);
        SIMT_UNROLL
        for (int n = 0; n < kHead / 16; ++n) {
            float sums[2][4] = {};
            SIMT_UNROLL
            for (int k = 0; k < kBlockKeys / 32; ++k) {
                std::uint32_t b[4];
                load_fragments_bt(b, shared.v[stage].at(0, 0), k * 16, n * 16);
                const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
                simt::mma_e4m3(sums[0], p.x[k], left);
                simt::mma_e4m3(sums[1], p.x[k], right);
            }
            SIMT_UNROLL
            for (int i = 0; i < 8; ++i) {
                float& to = acc.x[0][2 * n + i / 4][i % 4];
                to = fmaf(sums[i / 4][i % 4], factor, to * keep.x[0][i % 4 / 2]);
            }
        }
    }
};

}  // namespace rm::device
