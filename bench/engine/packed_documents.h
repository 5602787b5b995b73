#pragma once

#include <cstdint>
#include <vector>

#include "spec/place_documents.h"

namespace rm::bench {

// Lengths of documents that fill a sequence: log-normal with this median (tokens) and sigma, drawn
// from the seed; the last is cut off by the sequence's end.
std::vector<std::int64_t> lognormal_documents(std::uint64_t seed, std::int64_t total_tokens,
                                              double median, double sigma);

// The input on which balance is measured: about twenty documents of very different lengths.
constexpr std::int64_t kBalanceTokens = std::int64_t{1} << 20;
constexpr double kBalanceMedian = 16'384;
constexpr double kBalanceSigma = 1.5;

// The whole sequence zigzag-cut as if it were one document: what place_documents is better than.
DocumentLayout plain_zigzag(const std::vector<std::int64_t>& documents, std::int64_t padded,
                            int ring);

}  // namespace rm::bench
