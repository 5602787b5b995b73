#pragma once

#include "kernels/device/vectors.h"

// Copies between tensors and one buffer, kWidth bytes to a thread and access.
namespace rm::device {

constexpr int kMaxOffloadPieces = 32;

enum class Offload { pack, unpack };

struct OffloadParams {
    struct Piece {
        unsigned char* tensor;
        std::int64_t offset;  // in the buffer
        std::int64_t bytes;
        std::int64_t first;  // access of this piece, counted over all pieces
    };
    Piece pieces[kMaxOffloadPieces];
    int num_pieces;
    std::int64_t count;  // accesses
    unsigned char* buffer;
};

template <Offload kDirection, int kWidth>
struct OffloadCopy : PlainKernel<256, 4> {
    static constexpr const char* kName =
        kDirection == Offload::pack ? "offload_pack" : "offload_unpack";
    static constexpr int kAtOnce = 4;  // accesses of a thread in flight
    using Params = OffloadParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        constexpr std::int64_t kPerBlock = kThreads * kAtOnce;
        for (std::int64_t first = simt::block_x() * kPerBlock; first < p.count;
             first += simt::grid_x() * kPerBlock)
            copy_some(p, first + simt::thread());
    }

private:
    using Unit = Packed<kWidth == 16 ? 8 : 1>;

    // The bytes of one access; less than a unit at the end of a piece.
    struct Access {
        const unsigned char* from;
        unsigned char* to;
        std::int64_t bytes;
    };

    SIMT_FN static Access access(const Params& p, std::int64_t i) {
        int k = 0;
        while (k + 1 < p.num_pieces && p.pieces[k + 1].first <= i)
            ++k;
        const auto& piece = p.pieces[k];
        const std::int64_t at = (i - piece.first) * kWidth;
        unsigned char *tensor = piece.tensor + at, *buffer = p.buffer + piece.offset + at;
        const std::int64_t bytes = piece.bytes - at;
        if (kDirection == Offload::pack) return {tensor, buffer, bytes};
        return {buffer, tensor, bytes};
    }

    SIMT_FN static void copy_some(const Params& p, std::int64_t first) {
        Access accesses[kAtOnce];
        Unit units[kAtOnce];
        SIMT_UNROLL
        for (int j = 0; j < kAtOnce; ++j) {
            const std::int64_t i = first + j * kThreads;
            accesses[j].bytes = 0;
            if (i >= p.count) continue;
            accesses[j] = access(p, i);
            if (accesses[j].bytes >= kWidth)
                units[j] = *reinterpret_cast<const Unit*>(accesses[j].from);
        }
        SIMT_UNROLL
        for (int j = 0; j < kAtOnce; ++j) {
            if (accesses[j].bytes >= kWidth) {
                *reinterpret_cast<Unit*>(accesses[j].to) = units[j];
            } else {
                copy_tail(accesses[j]);
            }
        }
    }

    // The sizes of all types are even.
    SIMT_FN static void copy_tail(const Access& access) {
        using Two = Packed<1>;
        for (std::int64_t i = 0; i < access.bytes; i += 2) {
            *reinterpret_cast<Two*>(access.to + i) = *reinterpret_cast<const Two*>(access.from + i);
        }
    }
};

}  // namespace rm::device
