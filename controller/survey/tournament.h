#pragma once

#include <utility>
#include <vector>

namespace rm {

using NodePair = std::pair<int, int>;
using Round = std::vector<NodePair>;  // disjoint

// Every pair of 0..num_nodes-1 once, in num_nodes - 1 rounds (num_nodes of them when it is odd: in
// each, one sits out). The circle method.
std::vector<Round> tournament(int num_nodes);

// `count` of the rounds, evenly spread; all of them where there are no more.
std::vector<Round> sampled(const std::vector<Round>& rounds, std::size_t count);

}  // namespace rm
