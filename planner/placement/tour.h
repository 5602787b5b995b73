#pragma once

#include <vector>

namespace rm {

// Costs of the edges between nodes in a tour: (nodes, nodes), row = from.
class EdgeCosts {
public:
    explicit EdgeCosts(int num_nodes)
        : num_nodes_(num_nodes),
          costs_(static_cast<std::size_t>(num_nodes) * static_cast<std::size_t>(num_nodes), 0) {}
    int num_nodes() const { return num_nodes_; }
    float& at(int from, int to) {
        return costs_[static_cast<std::size_t>(from) * static_cast<std::size_t>(num_nodes_) +
                      static_cast<std::size_t>(to)];
    }
    double operator()(int from, int to) const {
        return costs_[static_cast<std::size_t>(from) * static_cast<std::size_t>(num_nodes_) +
                      static_cast<std::size_t>(to)];
    }

private:
    int num_nodes_;
    std::vector<float> costs_;
};

// `num_cycles` disjoint closed cycles of `length` nodes each, one after the other, that cost little
// in sum. Greedy by edges, or from the cheapest cover by cycles of any length; then improved at
// their worst edges by exchanges of segments between cycles, moves within a cycle and reversals.
// Nodes may be left over. Fixed effort, no randomness.
std::vector<int> find_cycles(const EdgeCosts& costs, int num_cycles, int length);

}  // namespace rm
