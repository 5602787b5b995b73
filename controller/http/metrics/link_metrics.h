#pragma once

#include <cstddef>
#include <string>

#include "controller/survey/link_book.h"

namespace rm {

// The most nodes whose links have a series each.
constexpr std::size_t kNodesWithPairs = 64;

// Metrics of measured links: series per pair of nodes up to kNodesWithPairs nodes; above it, two
// per node (its best sending and receiving rates, with dst or src empty).
std::string link_metrics(const LinkBook& book);

}  // namespace rm
