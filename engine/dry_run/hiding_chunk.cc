#include "engine/dry_run/hiding_chunk.h"

#include <algorithm>

#include "kernels/ops/attention.h"

namespace rm {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 22;  // tokens; beyond it nothing hides

// The times of a chunk's attention and of its transfers, for `tokens` of a slot.
class ChunkTimes {
public:
    ChunkTimes(const RankShapes& shapes, const NumericTypes& types, const DeviceProfile& profile,
               AttentionNumbers numbers)
        : shapes_(shapes), types_(types), profile_(profile), numbers_(numbers) {}

    bool hides_forward(std::int64_t tokens) const {
        const double rows = bytes(tokens, shapes_.attended_kv * shapes_.D, types_.compute);
        return attention<AttentionFwd, AttentionFwd8>(tokens) >= 2 * transfer("upload", rows);
    }
    bool hides_backward(std::int64_t tokens) const {
        const std::int64_t width = shapes_.attended_q * shapes_.D;
        const double rows = bytes(tokens, width, types_.compute);
        const double sums = bytes(tokens, width, types_.accum);
        const double numbers = bytes(tokens, shapes_.attended_q, types_.accum);
        const double up = 2 * transfer("upload", rows) + transfer("upload", sums) +
                          2 * transfer("upload", numbers);
        return attention<AttentionBwd, AttentionBwd8>(tokens) >=
               std::max(up, transfer("download", sums));
    }

private:
    static double bytes(std::int64_t tokens, std::int64_t width, DType type) {
        return static_cast<double>(tokens * width * size_of(type));
    }
    double transfer(std::string_view way, double bytes) const {
        return seconds_of(profile_, way, work_of_bytes(bytes)).value;
    }
    template <typename Op, typename Op8>
    double attention(std::int64_t tokens) const {
        return numbers_ == AttentionNumbers::eight_bit ? pairs<Op8>(tokens) : pairs<Op>(tokens);
    }
    // The time of all pairs of a chunk of queries and one of keys.
    template <typename Op>
    double pairs(std::int64_t tokens) const {
        const auto keys = static_cast<double>(tokens);
        const double flops =
            Op::kFlopsPerPair * keys * keys * static_cast<double>(shapes_.attended_q * shapes_.D);
        return seconds_of(profile_, Op::kName,
                          {.amount = flops, .size = keys, .head_dim = shapes_.D})
            .value;
    }

    const RankShapes& shapes_;
    const NumericTypes types_;
    const DeviceProfile& profile_;
    const AttentionNumbers numbers_;
};

// The fewest tiles of a rank that hide.
template <typename Hides>
std::int64_t shortest(const RankLayout& layout, Hides hides) {
    const std::int64_t tile = layout.memory.tile_tokens;
    std::int64_t below = 0, enough = 1;
    while (!hides(enough * tile * layout.ulysses) && enough * tile < kLongest) {
        below = enough;
        enough *= 2;
    }
    while (enough - below > 1) {
        const std::int64_t middle = (below + enough) / 2;
        (hides(middle * tile * layout.ulysses) ? enough : below) = middle;
    }
    return enough * tile;
}

}  // namespace

HidingChunks hiding_chunks(const ModelConfig& model, const RankLayout& layout,
                           const NumericTypes& types, const DeviceProfile& profile,
                           AttentionNumbers numbers) {
    const RankShapes shapes(model, layout);
    const ChunkTimes times(shapes, types, profile, numbers);
    return {shortest(layout, [&](std::int64_t tokens) { return times.hides_forward(tokens); }),
            shortest(layout, [&](std::int64_t tokens) { return times.hides_backward(tokens); })};
}

}  // namespace rm
