#include "engine/data/entropy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace rm {
namespace {

constexpr std::size_t kNumBytes = 256;

// Entropy, nats, of a distribution given by counts, times the sum of the counts.
double total_nats(std::span<const std::int64_t> counts) {
    const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    double nats = 0;
    for (const std::int64_t count : counts) {
        if (count == 0) continue;
        const auto n = static_cast<double>(count);
        nats += n * std::log(static_cast<double>(sum) / n);
    }
    return nats;
}

struct ByteCounts {
    std::vector<std::int64_t> single = std::vector<std::int64_t>(kNumBytes);
    std::vector<std::int64_t> pair = std::vector<std::int64_t>(kNumBytes * kNumBytes);
};

Status count_document(TextReader& reader, std::int64_t document, const Activity& activity,
                      ByteCounts& counts) {
    constexpr std::int64_t kBlockBytes = 1 << 20;
    RM_TRY(const std::int64_t total, reader.num_bytes(document));
    std::vector<std::uint8_t> block;
    std::int64_t previous = -1;  // blocks of one document continue each other
    for (std::int64_t at = 0; at < total; at += kBlockBytes) {
        RM_RETURN_IF_ERROR(activity.check());
        block.resize(static_cast<std::size_t>(std::min(kBlockBytes, total - at)));
        RM_RETURN_IF_ERROR(reader.read(document, at, block));
        for (const std::uint8_t byte : block) {
            ++counts.single[byte];
            if (previous >= 0) {
                ++counts.pair[static_cast<std::size_t>(previous) * kNumBytes + byte];
            }
            previous = byte;
        }
    }
    return {};
}

}  // namespace

Result<TextEntropies> text_entropies(std::span<const TextSource* const> sources,
                                     const Activity& activity) {
    ByteCounts counts;
    for (const TextSource* source : sources) {
        const auto reader = source->make_reader();
        for (std::int64_t i = 0; i < source->num_documents(); ++i)
            RM_RETURN_IF_ERROR(count_document(*reader, i, activity, counts));
    }
    TextEntropies entropies;
    const auto num_bytes =
        std::accumulate(counts.single.begin(), counts.single.end(), std::int64_t{0});
    if (num_bytes == 0) return entropies;
    entropies.unigram = total_nats(counts.single) / static_cast<double>(num_bytes);
    const auto num_pairs = std::accumulate(counts.pair.begin(), counts.pair.end(), std::int64_t{0});
    if (num_pairs == 0) return entropies;
    for (std::size_t previous = 0; previous < kNumBytes; ++previous) {
        entropies.bigram +=
            total_nats(std::span(counts.pair).subspan(previous * kNumBytes, kNumBytes));
    }
    entropies.bigram /= static_cast<double>(num_pairs);
    return entropies;
}

}  // namespace rm
