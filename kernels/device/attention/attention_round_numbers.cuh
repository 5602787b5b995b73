#pragma once

#include "kernels/device/attention/attention_round_keys.cuh"

// Queries, keys and values of attention in 8 bits become the numbers that their codes stand for, in
// bf16, and the kernels of the other backward pass run on those.
namespace rm::device {

// The number that the code of x stands for, in units of its scale.
SIMT_FN float int8_number(float x, float factor) {
    return fmaf(x, factor, 12582912.0f) - 12582912.0f;
}

// Rows of one head of one token, a warp each.
struct AttentionRoundQueries {
    static constexpr const char* kName = "attention_round_queries";
    static constexpr int kThreads = 256;
    static constexpr int kRows = kThreads / 32;  // of a block
    static constexpr int kMinBlocks = 4;
    static constexpr int kMost = 4;  // numbers of a lane: D is at most 128

    struct Shared {};
    struct Params {
        const std::uint16_t* q;  // (rows, D) bf16
        std::uint16_t* rounded;  // (rows, D) bf16
        int rows, D;
    };

    SIMT_FN static void run(const Params& p, Shared& /*shared*/) {
        const int row = simt::block_x() * kRows + simt::warp();
        if (row >= p.rows) return;
        const std::int64_t at = static_cast<std::int64_t>(row) * p.D + simt::lane();
        float x[kMost];
        int largest = 0;
        SIMT_UNROLL
        for (int i = 0; i < kMost; ++i) {
            x[i] = simt::lane() + 32 * i < p.D ? from_bf16(p.q[at + 32 * i]) : 0;
            const int size = size_bits(x[i]);
            largest = size > largest ? size : largest;
        }
        for (int mask = 16; mask > 0; mask /= 2) {
            const int other = simt::shfl_xor(largest, mask);
            largest = other > largest ? other : largest;
        }
        const CodeScale scale = int8_scale(static_cast<std::uint32_t>(largest));
        SIMT_UNROLL
        for (int i = 0; i < kMost; ++i) {
            if (simt::lane() + 32 * i >= p.D) continue;
            p.rounded[at + 32 * i] = to_bf16(int8_number(x[i], scale.of_numbers) * scale.of_codes);
        }
    }
};

// Keys and values, a block of 64 of one head each, as AttentionRoundKeys.
template <int kHead>
struct AttentionRoundNumbers {
    using Codes = AttentionRoundKeys<kHead>;
    static constexpr const char* kName = "attention_round_numbers";
    static constexpr int kThreads = Codes::kThreads;
    static constexpr int kMinBlocks = Codes::kMinBlocks;

    using Shared = typename Codes::Shared;
    struct Params {
        const std::uint16_t* k;    // (S, Hk, D) bf16
        const std::uint16_t* v;    // (S, Hk, D) bf16
        std::uint16_t* rounded_k;  // (S, Hk, D) bf16, of which the tokens of kv_runs are written
        std::uint16_t* rounded_v;
        int Hk, D;
        RunList kv_runs;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const RunTile keys = tile_at<kBlockKeys>(p.kv_runs, simt::block_x() / p.Hk);
        const auto rows_of = [&](auto* x) {
            return head_rows(x, p.Hk, p.D, simt::block_x() % p.Hk, keys.token, keys.count);
        };
        if (simt::thread() < 2) shared.largest[simt::thread()] = 0;
        Codes::bring(shared, rows_of(p.k));
        simt::sync_block();
        Codes::find_centre(shared, keys.count);
        simt::sync_block();
        const auto centre = [&](int d) { return from_bf16(shared.centre[d]); };
        Codes::find_largest(keys.count, shared.largest[0], [&](int key, int d) {
            return Codes::number(shared, key, d) - centre(d);
        });
        simt::sync_block();
        const CodeScale of_k = int8_scale(static_cast<std::uint32_t>(shared.largest[0]));
        store(rows_of(p.rounded_k), [&](int key, int d) {
            const float rest = Codes::number(shared, key, d) - centre(d);
            return fmaf(int8_number(rest, of_k.of_numbers), of_k.of_codes, centre(d));
        });
        simt::sync_block();
        Codes::bring(shared, rows_of(p.v));
        simt::sync_block();
        Codes::find_largest(keys.count, shared.largest[1],
                            [&](int key, int d) { return Codes::number(shared, key, d); });
        simt::sync_block();
        const CodeScale of_v = e4m3_code_scale(static_cast<std::uint32_t>(shared.largest[1]));
        store(rows_of(p.rounded_v), [&](int key, int d) {
            const float scaled = Codes::number(shared, key, d) * of_v.of_numbers;
            return from_e4m3(simt::round_e4m3x2(scaled, 0) & 0xff) * of_v.of_codes;
        });
    }

    template <typename At>
    SIMT_FN static void store(const HeadRows<std::uint16_t>& to, const At& at) {
        for (int i = simt::thread(); i < to.count * to.D; i += kThreads)
            *to.at(i / to.D, i % to.D) = to_bf16(at(i / to.D, i % to.D));
    }
};

}  // namespace rm::device
