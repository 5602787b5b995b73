#include "engine/dry_run/layer_repetition.h"

#include <algorithm>

namespace rm {
namespace {

using Span = std::span<const std::int64_t>;

std::size_t common_prefix(Span a, Span b) {
    return usize(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

std::size_t common_suffix(Span a, Span b) {
    return usize(std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin());
}

bool equal(Span a, Span b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Whether the `count` values before `at` are those from `at` on.
bool repeats(Span all, std::size_t at, std::size_t count) {
    return count <= at && equal(all.subspan(at - count, count), all.subspan(at, count));
}

std::vector<std::int64_t> copy_of(Span part) {
    return {part.begin(), part.end()};
}

// Follows the live bytes over the parts of a pass.
struct Walk {
    std::int64_t live = 0;
    std::int64_t peak = 0;

    void pass(Span deltas) {
        for (const std::int64_t delta : deltas) {
            live += delta;
            peak = std::max(peak, live);
        }
    }
    // Every period adds the same bytes, so the first or the last one has the peak.
    void pass_repeated(Span deltas, std::int64_t times) {
        if (times == 0) return;
        const std::int64_t before = live;
        pass(deltas);
        if (times == 1) return;
        live += (times - 2) * (live - before);
        pass(deltas);
    }
};

}  // namespace

LayerRepetition::Deltas LayerRepetition::deltas_of(const ArenaTrace& trace) {
    Deltas deltas(2 * trace.blocks.size());
    for (const ArenaBlock& block : trace.blocks) {
        deltas[usize(block.lower)] = block.size.value;
        deltas[usize(block.upper)] = -block.size.value;
    }
    return deltas;
}

std::optional<LayerRepetition> LayerRepetition::find(const ArenaTrace& few,
                                                     const ArenaTrace& more) {
    const Deltas a = deltas_of(few), b = deltas_of(more);
    if (b.size() < a.size()) return std::nullopt;
    const std::size_t prefix = common_prefix(a, b);
    const std::size_t suffix = std::min(common_suffix(a, b), a.size() - prefix);
    const Span middle = Span(a).subspan(prefix, a.size() - prefix - suffix);
    const std::size_t added = b.size() - a.size();
    for (std::size_t forward = 0; forward <= added; ++forward) {
        const std::size_t backward = added - forward;
        const std::size_t end = b.size() - suffix;
        if (!equal(middle, Span(b).subspan(prefix + forward, middle.size()))) continue;
        if (!repeats(b, prefix, forward)) continue;
        if (backward > suffix || !repeats(b, end, backward)) continue;
        LayerRepetition found;
        found.begin_ = copy_of(Span(b).first(prefix));
        found.forward_ = copy_of(Span(b).subspan(prefix, forward));
        found.middle_ = copy_of(middle);
        found.backward_ = copy_of(Span(b).subspan(end - backward, backward));
        found.end_ = copy_of(Span(b).subspan(end));
        return found;
    }
    return std::nullopt;
}

Bytes LayerRepetition::peak(std::int64_t periods) const {
    Walk walk;
    walk.pass(begin_);
    walk.pass_repeated(forward_, periods);
    walk.pass(middle_);
    walk.pass_repeated(backward_, periods);
    walk.pass(end_);
    return {walk.peak};
}

}  // namespace rm
