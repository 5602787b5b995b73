#include "bench/engine/hard_traces.h"

#include <algorithm>

namespace rm {
namespace {

struct Piece {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    std::int64_t size = 0;
    double area() const { return static_cast<double>(upper - lower) * static_cast<double>(size); }
};
using Pieces = std::vector<Piece>;

std::int64_t between(Rng& rng, std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
}

bool one_in(Rng& rng, std::uint64_t n) {
    return rng.below(n) == 0;
}

// Picks a cut so that either side has at least `share` percent of `length`.
std::int64_t cut_of(Rng& rng, std::int64_t length, std::int64_t share) {
    const std::int64_t least = std::max<std::int64_t>(1, length * share / 100);
    return between(rng, least, std::max(least, length - least));
}

// How to cut a rectangle of time and bytes.
struct Cutting {
    Piece whole;
    std::int64_t share = 10;  // percent that either side has at least
    int pinwheels = 0;        // percent of the cuts that make five parts
};

// The piece keeps one side; the function returns the other.
Piece cut_in_two(Rng& rng, Piece& piece, const Cutting& cutting) {
    Piece other = piece;
    // Cuts the side that is longer relative to the whole's, and sometimes the other one.
    const std::int64_t life = piece.upper - piece.lower;
    const double length =
        static_cast<double>(life) / static_cast<double>(cutting.whole.upper - cutting.whole.lower);
    const double height = static_cast<double>(piece.size) / static_cast<double>(cutting.whole.size);
    const bool in_time = life > 1 && (piece.size < 2 || (length > height) != one_in(rng, 4));
    if (in_time) {
        piece.upper = piece.lower + cut_of(rng, life, cutting.share);
        other.lower = piece.upper;
    } else {
        piece.size = cut_of(rng, piece.size, cutting.share);
        other.size -= piece.size;
    }
    return other;
}

// Five parts: four around the one in the middle, each as long as its side but for a corner.
Pieces cut_in_five(Rng& rng, const Piece& piece) {
    const std::int64_t life = piece.upper - piece.lower;
    const std::int64_t early = piece.lower + between(rng, life / 5, 2 * life / 5);
    const std::int64_t late = piece.upper - between(rng, life / 5, 2 * life / 5);
    const std::int64_t low = between(rng, piece.size / 5, 2 * piece.size / 5);
    const std::int64_t high = piece.size - between(rng, piece.size / 5, 2 * piece.size / 5);
    return {{piece.lower, late, low},
            {late, piece.upper, high},
            {early, piece.upper, piece.size - high},
            {piece.lower, early, piece.size - low},
            {early, late, high - low}};
}

Pieces cut_up(Rng& rng, const Cutting& cutting, int count) {
    Pieces pieces = {cutting.whole};
    const auto smaller = [](const Piece& a, const Piece& b) { return a.area() < b.area(); };
    while (std::ssize(pieces) < count) {
        const auto largest = std::max_element(pieces.begin(), pieces.end(), smaller);
        const bool roomy = largest->size >= 10 && largest->upper - largest->lower >= 10;
        if (roomy && static_cast<int>(rng.below(100)) < cutting.pinwheels) {
            const Pieces parts = cut_in_five(rng, *largest);
            *largest = parts[0];
            pieces.insert(pieces.end(), parts.begin() + 1, parts.end());
        } else {
            pieces.push_back(cut_in_two(rng, *largest, cutting));
        }
    }
    return pieces;
}

Pieces sawtooth(Rng& rng, int count, const HardArena& arena) {
    constexpr std::int64_t kRows = 10;
    const std::int64_t teeth = count / (kRows + 1);
    const std::int64_t width = arena.moments / teeth;
    Pieces pieces;
    std::int64_t left = arena.capacity.value;
    for (std::int64_t row = 0; row < kRows; ++row) {
        const std::int64_t rest = kRows - row - 1;
        const std::int64_t size =
            rest == 0 ? left : between(rng, left / (2 * (rest + 1)), left / (rest + 1));
        left -= size;
        std::int64_t begin = 0;
        for (std::int64_t tooth = 0; tooth < teeth; ++tooth) {
            const bool last = tooth + 1 == teeth;
            const std::int64_t end =
                last ? arena.moments
                     : tooth * width + width * (row + 1) / (kRows + 1) + between(rng, 0, width / 8);
            pieces.push_back({begin, end, size});
            begin = end;
        }
    }
    // Cuts the rows of different teeth differently.
    const std::size_t num_rows = pieces.size();
    for (std::size_t i = 0; i < num_rows; ++i) {
        if (pieces[i].size < 8 || !one_in(rng, 8)) continue;
        Piece upper = pieces[i];
        upper.size /= 3;
        pieces[i].size -= upper.size;
        pieces.push_back(upper);
    }
    return pieces;
}

// Fills `size` bytes from `now` on with one to three blocks; returns them in order.
Pieces fill(Rng& rng, std::int64_t now, std::int64_t size) {
    Pieces blocks = {{now, now, size}};
    for (auto more = rng.below(3); more > 0 && blocks.back().size >= 16; --more) {
        Piece upper = blocks.back();
        blocks.back().size = cut_of(rng, upper.size, 20);
        upper.size -= blocks.back().size;
        blocks.push_back(upper);
    }
    return blocks;
}

Pieces refilled(Rng& rng, int count, const HardArena& arena) {
    const std::int64_t capacity = arena.capacity.value;
    Pieces ended;
    Pieces live;  // by offset
    for (std::int64_t left = capacity; left > 0;) {
        const std::int64_t size = std::min(left, capacity / 40 + between(rng, 0, capacity / 12));
        live.push_back({0, 0, size});
        left -= size;
    }
    std::int64_t now = 0;
    while (std::ssize(ended) + std::ssize(live) < count) {
        now += between(rng, 1, 2 * arena.moments / count);
        // One run of blocks ends, at times two.
        for (auto runs = one_in(rng, 4) ? 2 : 1; runs > 0; --runs) {
            const auto first = live.begin() + between(rng, 0, std::ssize(live) - 1);
            const auto end = first + std::min<std::int64_t>(between(rng, 1, 3), live.end() - first);
            const bool is_new =
                std::any_of(first, end, [now](const Piece& p) { return p.lower == now; });
            if (is_new) continue;
            std::int64_t size = 0;
            for (auto block = first; block != end; ++block) {
                size += block->size;
                ended.push_back({block->lower, now, block->size});
            }
            const Pieces blocks = fill(rng, now, size);
            live.insert(live.erase(first, end), blocks.begin(), blocks.end());
        }
    }
    for (Piece& block : live)
        block.upper = now + 1;
    ended.insert(ended.end(), live.begin(), live.end());
    return ended;
}

enum class Work { everywhere, at_the_peak };

// Forward and backward of each layer take the same time. A layer keeps two blocks for its backward
// pass; two lanes pass data from layer to layer.
Pieces training_step(Rng& rng, int count, const HardArena& arena, Work work) {
    const int layers = 4 + count / 40;
    const std::int64_t length = arena.moments / (2 * layers);
    const std::int64_t end_of_step = 2 * layers * length;
    const std::int64_t capacity = arena.capacity.value;
    const std::int64_t kept = capacity / 2 / layers;
    const std::int64_t lane = capacity / 16;
    Pieces pieces;
    std::int64_t room = capacity - 2 * lane;
    for (const std::int64_t parity : {0, 1}) {
        std::int64_t begin = 0;
        for (int layer = 0; layer < 2 * layers; ++layer) {
            if (layer % 2 != parity || layer < 2) continue;
            const std::int64_t end = layer * length + between(rng, 1, length - 1);
            pieces.push_back({begin, end, lane});
            begin = end;
        }
        pieces.push_back({begin, end_of_step, lane});
    }
    const int per_layer = (count - 4 * layers) / (2 * layers);
    for (int layer = 0; layer < layers; ++layer) {
        const std::int64_t begin = layer * length;
        const std::int64_t end = end_of_step - begin;
        const std::int64_t attention = kept * between(rng, 20, 60) / 100;
        const std::int64_t delay = length / 8;
        pieces.push_back({begin, end, kept - attention});
        pieces.push_back({begin + delay, end - delay, attention});
        room -= kept - attention;
        const bool full = work == Work::everywhere || layer + 2 >= layers;
        for (const bool backward : {false, true}) {
            const Piece early =
                backward ? Piece{end - delay, end, room} : Piece{begin, begin + delay, room};
            const Piece late = backward ? Piece{end - length, end - delay, room - attention}
                                        : Piece{begin + delay, begin + length, room - attention};
            Pieces blocks = cut_up(rng, {.whole = early, .share = 20}, 1 + per_layer / 5);
            const Pieces others = cut_up(rng, {.whole = late, .share = 20}, per_layer * 4 / 5);
            blocks.insert(blocks.end(), others.begin(), others.end());
            for (const Piece& block : blocks) {
                if (full || !one_in(rng, 4)) pieces.push_back(block);
            }
        }
        room -= attention;
    }
    return pieces;
}

// Whether the piece lives at the one moment that stays full.
bool stays(const Piece& piece, const HardArena& arena) {
    return piece.lower <= arena.moments / 3 && arena.moments / 3 < piece.upper;
}

// Takes up to a tenth of the life or the size of one piece in eight.
Pieces with_gaps(Rng& rng, Pieces pieces, const HardArena& arena) {
    for (Piece& piece : pieces) {
        if (stays(piece, arena) || !one_in(rng, 8)) continue;
        const bool in_time = one_in(rng, 2);
        if (in_time) piece.upper -= between(rng, 0, (piece.upper - piece.lower) / 10);
        if (!in_time) piece.size -= between(rng, 0, piece.size / 10);
    }
    return pieces;
}

Pieces without_some(Rng& rng, Pieces pieces, const HardArena& arena) {
    std::erase_if(pieces,
                  [&](const Piece& piece) { return !stays(piece, arena) && one_in(rng, 12); });
    return pieces;
}

Pieces make_pieces(Rng& rng, HardTrace kind, int count, const HardArena& arena) {
    Cutting cutting{{0, arena.moments, arena.capacity.value}};
    switch (kind) {
        case HardTrace::guillotine:
            return cut_up(rng, cutting, count);
        case HardTrace::tight:
            cutting.share = 40;
            return cut_up(rng, cutting, count);
        case HardTrace::pinwheel:
            cutting.pinwheels = 30;
            return cut_up(rng, cutting, count);
        case HardTrace::sawtooth:
            return sawtooth(rng, count, arena);
        case HardTrace::refilled:
            return refilled(rng, count, arena);
        case HardTrace::full_step:
            return training_step(rng, count, arena, Work::everywhere);
        case HardTrace::gapped:
            return with_gaps(rng, cut_up(rng, cutting, count), arena);
        case HardTrace::thinned:
            cutting.share = 40;
            return without_some(rng, cut_up(rng, cutting, count * 13 / 12), arena);
        case HardTrace::step:
            return training_step(rng, count * 5 / 4, arena, Work::at_the_peak);
    }
    return {};
}

}  // namespace

HardCase hard_case(std::uint64_t seed) {
    Rng rng(seed);
    return {kHardTraces[seed % std::size(kHardTraces)], seed,
            static_cast<int>(between(rng, 160, 480))};
}

ArenaTrace hard_trace(const HardCase& hard, const HardArena& arena) {
    Rng rng(hard.seed);
    ArenaTrace trace;
    for (const Piece& piece : make_pieces(rng, hard.kind, hard.count, arena))
        trace.blocks.push_back({piece.lower, piece.upper, {piece.size}});
    // The order gives no hint.
    for (std::size_t i = trace.blocks.size(); i-- > 1;)
        std::swap(trace.blocks[i], trace.blocks[rng.below(i + 1)]);
    return trace;
}

}  // namespace rm
