#include "engine/data/text/text_source.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace rm {
namespace {

constexpr std::size_t kNumBytes = 256;

// Entropy (nats) of a distribution given by counts, times the sum of the counts.
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

void count_block(std::span<const std::uint8_t> block, std::int64_t& previous, ByteCounts& counts) {
    for (const std::uint8_t byte : block) {
        ++counts.single[byte];
        if (previous >= 0) ++counts.pair[usize(previous) * kNumBytes + byte];
        previous = byte;
    }
}

}  // namespace

Result<std::string> TextReader::load(std::int64_t document) {
    RM_TRY(const std::int64_t bytes, num_bytes(document));
    std::string text(usize(bytes), '\0');
    RM_RETURN_IF_ERROR(
        read(document, 0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    return text;
}

Status TextReader::visit(std::int64_t document,
                         const std::function<Status(std::span<const std::uint8_t>)>& block) {
    constexpr std::int64_t kBlockBytes = 1 << 20;
    RM_TRY(const std::int64_t bytes, num_bytes(document));
    std::vector<std::uint8_t> buffer(usize(std::min(bytes, kBlockBytes)));
    for (std::int64_t offset = 0; offset < bytes; offset += kBlockBytes) {
        const std::span<std::uint8_t> part(buffer.data(),
                                           usize(std::min(kBlockBytes, bytes - offset)));
        RM_RETURN_IF_ERROR(read(document, offset, part));
        RM_RETURN_IF_ERROR(block(part));
    }
    return {};
}

std::int64_t TextSource::total_stored_bytes() const {
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < num_documents(); ++i)
        bytes += stored_bytes(i);
    return bytes;
}

Result<TextEntropies> text_entropies(std::span<const TextSource* const> sources,
                                     const Activity& activity) {
    ByteCounts counts;
    for (const TextSource* source : sources) {
        const auto reader = source->make_reader();
        for (std::int64_t i = 0; i < source->num_documents(); ++i) {
            std::int64_t previous = -1;  // blocks of one document continue each other
            RM_RETURN_IF_ERROR(reader->visit(i, [&](std::span<const std::uint8_t> block) {
                count_block(block, previous, counts);
                return activity.check();
            }));
        }
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
