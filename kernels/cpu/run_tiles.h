#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/layout.h"
#include "kernels/cpu/simd/loops.h"

// The tiles of one side of an attention step: each run cut at multiples of 64 tokens from its
// start.
namespace rm::cpu {

struct RunTile {
    std::int64_t token = 0;  // the first, in local order
    std::int64_t count = 0;
    std::int64_t position = 0;  // of the first
    std::int32_t document = 0;
};

// The keys of a key tile that a query tile sees: row r sees the first `first_limit + r` keys.
inline std::int64_t first_limit(const RunTile& q, const RunTile& kv) {
    return q.position - kv.position + 1;
}
inline bool sees(const RunTile& q, const RunTile& kv) {
    return q.document != kPaddingDocument && q.document == kv.document &&
           first_limit(q, kv) + q.count - 1 > 0;
}

class RunTiles {
public:
    explicit RunTiles(std::span<const Run> runs) : runs_(runs) {
        for (const Run& run : runs)
            count_ += tiles_of(run);
    }
    std::int64_t count() const { return count_; }

    RunTile at(std::int64_t tile) const {
        RunTile found;
        visit(tile, tile + 1, [&](const RunTile& each) { found = each; });
        return found;
    }

    // fn(tile) for tiles [first, last), in local order.
    template <typename Fn>
    void visit(std::int64_t first, std::int64_t last, const Fn& fn) const {
        std::int64_t start = 0, token = 0;  // of the run
        for (const Run& run : runs_) {
            const std::int64_t end = start + tiles_of(run);
            for (std::int64_t i = std::max(first, start); i < std::min(last, end); ++i) {
                const std::int64_t offset = (i - start) * simd::kTileRows;
                fn(RunTile{token + offset, std::min(simd::kTileRows, run.length - offset),
                           run.first + offset, run.document});
            }
            start = end;
            token += run.length;
        }
    }

private:
    static std::int64_t tiles_of(const Run& run) {
        return (run.length + simd::kTileRows - 1) / simd::kTileRows;
    }

    std::span<const Run> runs_;
    std::int64_t count_ = 0;
};

}  // namespace rm::cpu
