#pragma once

#include "kernels/device/attention/attention_8bit.cuh"
#include "kernels/device/attention/attention_runs.cuh"

// Rounds one head of 64 keys and values, counted from the start of their run, to 8 bits. Each block
// has its own scales and its own centre of the keys, so it does not depend on how a call is cut.
namespace rm::device {

template <int kHead>
struct AttentionRoundKeys {
    static constexpr const char* kName = "attention_round_keys";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    static constexpr int kStride = kHead + 2;  // a column lies in different banks

    struct Shared {
        std::uint32_t numbers[kBlockKeys * kStride / 2];  // (64, kStride) bf16
        std::uint16_t centre[kHead];
        int largest[2];  // the bits of its size: of keys, of values
    };
    struct Params {
        const std::uint16_t* k;  // (S, Hk, D) bf16
        const std::uint16_t* v;  // (S, Hk, D) bf16
        KeyBlock<kHead>* blocks;
        int Hk, D;
        RunList kv_runs;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const int tile = simt::block_x() / p.Hk, head = simt::block_x() % p.Hk;
        const RunTile keys = tile_at<kBlockKeys>(p.kv_runs, tile);
        KeyBlock<kHead>& to = p.blocks[tile * p.Hk + head];
        const auto rows_of = [&](const std::uint16_t* x) {
            return head_rows(x, p.Hk, p.D, head, keys.token, keys.count);
        };
        if (simt::thread() < 2) shared.largest[simt::thread()] = 0;
        bring(shared, rows_of(p.k));
        simt::sync_block();
        find_centre(shared, keys.count);
        simt::sync_block();
        if (simt::thread() < kHead)
            to.scales.centre[simt::thread()] = shared.centre[simt::thread()];
        find_largest(keys.count, shared.largest[0], [&](int key, int d) {
            return number(shared, key, d) - from_bf16(shared.centre[d]);
        });
        simt::sync_block();
        store_keys(shared, keys.count, to);
        simt::sync_block();
        bring(shared, rows_of(p.v));
        simt::sync_block();
        find_largest(keys.count, shared.largest[1],
                     [&](int key, int d) { return number(shared, key, d); });
        simt::sync_block();
        store_values(shared, to);
    }

    SIMT_FN static float number(const Shared& shared, int key, int d) {
        const std::uint32_t pair = shared.numbers[(key * kStride + d) / 2];
        return d % 2 == 0 ? low_bf16(pair) : high_bf16(pair);
    }

    SIMT_FN static void bring(Shared& shared, const HeadRows<const std::uint16_t>& from) {
        constexpr int kPairs = kHead / 2;
        for (int i = simt::thread(); i < kBlockKeys * kPairs; i += kThreads) {
            const int key = i / kPairs, column = i % kPairs * 2;
            const bool inside = key < from.count && column < from.D;
            shared.numbers[(key * kStride + column) / 2] =
                inside ? load_packed<2>(from.at(key, column)).x[0] : 0;
        }
    }

    // Halfway between the smallest and the largest number of a column, in bf16: no order of
    // summation can change it, and no other centre leaves a smaller largest difference.
    SIMT_FN static void find_centre(Shared& shared, int count) {
        const int d = simt::thread();
        if (d >= kHead) return;
        float low = INFINITY, high = -INFINITY;
        for (int key = 0; key < count; ++key) {
            low = fminf(low, number(shared, key, d));
            high = fmaxf(high, number(shared, key, d));
        }
        shared.centre[d] = to_bf16(0.5f * low + 0.5f * high);
    }

    template <typename At>
    SIMT_FN static void find_largest(int count, int& to, const At& at) {
        int largest = 0;
        for (int i = simt::thread(); i < count * kHead; i += kThreads) {
            const int size = size_bits(at(i / kHead, i % kHead));
            largest = size > largest ? size : largest;
        }
        for (int mask = 16; mask > 0; mask /= 2) {
            const int other = simt::shfl_xor(largest, mask);
            largest = other > largest ? other : largest;
        }
        if (simt::lane() == 0) simt::atomic_max(&to, largest);
    }

    SIMT_FN static void store_keys(const Shared& shared, int count, KeyBlock<kHead>& to) {
        constexpr int kWords = kHead / 4;
        const CodeScale scale = int8_scale(static_cast<std::uint32_t>(shared.largest[0]));
        for (int i = simt::thread(); i < kBlockKeys * kWords; i += kThreads) {
            const int key = i / kWords, d = i % kWords * 4;
            const auto code = [&](int c) {
                const float rest = number(shared, key, d + c) - from_bf16(shared.centre[d + c]);
                return int8_code(rest, scale.of_numbers);
            };
            to.k[i] = key < count ? pack_codes(code(0), code(1), code(2), code(3)) : 0;
        }
        if (simt::thread() == 0) to.scales.k = scale.of_codes;
    }

    SIMT_FN static void store_values(const Shared& shared, KeyBlock<kHead>& to) {
        constexpr int kWords = kBlockKeys / 4;
        const CodeScale scale = e4m3_code_scale(static_cast<std::uint32_t>(shared.largest[1]));
        for (int i = simt::thread(); i < kHead * kWords; i += kThreads) {
            const int d = i / kWords, key = first_key(i % kWords);
            const auto scaled = [&](int k) { return number(shared, k, d) * scale.of_numbers; };
            to.v[i] = simt::round_e4m3x2(scaled(key), scaled(key + 1)) |
                      simt::round_e4m3x2(scaled(key + 8), scaled(key + 9)) << 16;
        }
        if (simt::thread() == 0) to.scales.v = scale.of_codes;
    }
};

}  // namespace rm::device
