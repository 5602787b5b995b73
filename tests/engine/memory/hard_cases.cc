#include "tests/engine/memory/hard_cases.h"

#include <algorithm>

namespace rm::test {
namespace {

constexpr std::int64_t kHorizon = 4096;

struct Piece {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    std::int64_t size = 0;
    std::int64_t area() const { return (upper - lower) * size; }
};

std::int64_t between(Rng& rng, std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
}

// Picks a cut so that either side has at least `share` percent of `length`.
std::int64_t cut_of(Rng& rng, std::int64_t length, std::int64_t share) {
    const std::int64_t least = std::max<std::int64_t>(1, length * share / 100);
    return between(rng, least, std::max(least, length - least));
}

// The piece keeps one side; the function returns the other.
Piece cut(Rng& rng, Piece& piece, std::int64_t share, std::int64_t capacity) {
    Piece other = piece;
    // Cuts the side that is longer relative to the arena's, and sometimes the other one.
    const bool wide = (piece.upper - piece.lower) * capacity > piece.size * kHorizon;
    const bool in_time =
        piece.upper - piece.lower > 1 && (piece.size < 2 || wide == (rng.below(4) != 0));
    if (in_time) {
        piece.upper = piece.lower + cut_of(rng, piece.upper - piece.lower, share);
        other.lower = piece.upper;
    } else {
        piece.size = cut_of(rng, piece.size, share);
        other.size -= piece.size;
    }
    return other;
}

// Shuffles the blocks, so that their order gives no hint.
ArenaTrace trace_of(Rng& rng, const std::vector<Piece>& pieces) {
    ArenaTrace trace;
    for (const Piece& piece : pieces)
        trace.blocks.push_back({piece.lower, piece.upper, {piece.size}});
    for (std::size_t i = trace.blocks.size(); i-- > 1;)
        std::swap(trace.blocks[i], trace.blocks[rng.below(i + 1)]);
    return trace;
}

ArenaTrace cut_trace(Rng& rng, int count, std::int64_t capacity, std::int64_t share) {
    std::vector<Piece> pieces = {{0, kHorizon, capacity}};
    const auto smaller = [](const Piece& a, const Piece& b) { return a.area() < b.area(); };
    while (static_cast<int>(pieces.size()) < count) {
        const auto largest = std::max_element(pieces.begin(), pieces.end(), smaller);
        pieces.push_back(cut(rng, *largest, share, capacity));
    }
    return trace_of(rng, pieces);
}

}  // namespace

ArenaTrace guillotine_trace(Rng& rng, int count, std::int64_t capacity) {
    return cut_trace(rng, count, capacity, 10);
}

ArenaTrace tight_trace(Rng& rng, int count, std::int64_t capacity) {
    return cut_trace(rng, count, capacity, 40);
}

ArenaTrace sawtooth_trace(Rng& rng, int count, std::int64_t capacity) {
    constexpr std::int64_t kRows = 10;
    const std::int64_t teeth = count / kRows;
    const std::int64_t width = kHorizon / teeth;
    std::vector<Piece> pieces;
    std::int64_t left = capacity;
    for (std::int64_t row = 0; row < kRows; ++row) {
        const std::int64_t rest = kRows - row - 1;
        const std::int64_t size =
            rest == 0 ? left : between(rng, left / (2 * (rest + 1)), left / (rest + 1));
        left -= size;
        std::int64_t begin = 0;
        for (std::int64_t tooth = 0; tooth < teeth; ++tooth) {
            const bool last = tooth + 1 == teeth;
            const std::int64_t end =
                last ? kHorizon
                     : tooth * width + width * (row + 1) / (kRows + 1) + between(rng, 0, width / 8);
            pieces.push_back({begin, end, size});
            begin = end;
        }
    }
    // Cuts the rows of different teeth differently.
    const std::size_t num_rows = pieces.size();
    for (std::size_t i = 0; i < num_rows; ++i) {
        if (pieces[i].size < 8 || rng.below(8) != 0) continue;
        Piece upper = pieces[i];
        upper.size /= 3;
        pieces[i].size -= upper.size;
        pieces.push_back(upper);
    }
    return trace_of(rng, pieces);
}

}  // namespace rm::test
