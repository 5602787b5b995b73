#include "engine/data/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace rm {
namespace {

constexpr std::uint64_t kSplitStream = 0x73706c6974;  // apart from the epochs' shuffles

// Moves the last `tokens` of a document from train to held out.
void hold_out(Split& split, std::int64_t document, std::int64_t tokens) {
    DocumentSpan& whole = split.train.spans[usize(document)];
    whole.tokens -= tokens;
    split.held_out.spans.push_back({document, whole.tokens, tokens});
}

}  // namespace

std::int64_t DocumentSet::num_stored() const {
    std::int64_t tokens = 0;
    for (const DocumentSpan& span : spans)
        tokens += span.tokens;
    return tokens;
}

std::int64_t DocumentSet::num_tokens() const {
    return num_stored() + (end ? std::ssize(spans) : 0);
}

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed) {
    std::vector<std::int64_t> order(usize(count));
    std::iota(order.begin(), order.end(), 0);
    Rng rng(seed);
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[rng.below(i)]);
    return order;
}

Result<Split> split_held_out(const TokenSource& source, double fraction, std::uint64_t seed) {
    if (!(fraction >= 0 && fraction < 1)) {
        return invalid_argument("held-out fraction {}: it must be at least 0 and less than 1",
                                fraction);
    }
    Split split;
    split.train.end = split.held_out.end = source.end_of_document();
    const std::int64_t count = source.num_documents();
    for (std::int64_t i = 0; i < count; ++i)
        split.train.spans.push_back({i, 0, source.num_tokens(i)});

    const std::int64_t total = split.train.num_stored();
    const auto wanted = static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(total)));
    const std::int64_t target = std::min(wanted, total - 1);
    std::int64_t taken = 0;
    std::int64_t passed_over = -1;
    for (const std::int64_t document : shuffled(count, random_at(seed, kSplitStream, 0))) {
        if (taken >= target) break;
        const std::int64_t tokens = source.num_tokens(document);
        if (tokens == 0) continue;
        if (taken + tokens <= 2 * target && taken + tokens < total) {
            hold_out(split, document, tokens);
            taken += tokens;
        } else if (passed_over < 0) {
            passed_over = document;
        }
    }
    // A missed target implies a skipped document: all documents together exceed the target.
    if (taken < target) hold_out(split, passed_over, target - taken);
    std::erase_if(split.train.spans, [](const DocumentSpan& span) { return span.tokens == 0; });
    return split;
}

}  // namespace rm
