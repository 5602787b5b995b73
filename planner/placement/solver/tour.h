#pragma once

#include <vector>

#include "base/usize.h"

namespace rm {

// Costs of the edges between nodes in a tour: (nodes, nodes), row = from.
class EdgeCosts {
public:
    explicit EdgeCosts(int num_nodes)
        : num_nodes_(num_nodes), costs_(usize(num_nodes) * usize(num_nodes), 0) {}
    int num_nodes() const { return num_nodes_; }
    float& at(int from, int to) { return costs_[usize(from) * usize(num_nodes_) + usize(to)]; }
    double operator()(int from, int to) const {
        return costs_[usize(from) * usize(num_nodes_) + usize(to)];
    }

private:
    int num_nodes_;
    std::vector<float> costs_;
};

// Finds `num_cycles` disjoint closed cycles of `length` nodes each, one after the other, with a low
// total cost. Starts greedily by edges, or from the cheapest cover by cycles of any length; then
// improves the worst edges by exchanging segments between cycles, moving them within a cycle and
// reversing them. Nodes may be left over. Fixed effort, no randomness.
std::vector<int> find_cycles(const EdgeCosts& costs, int num_cycles, int length);

// Builds the starting cycles: takes edges in order of cost if they form paths of at most `length`
// nodes or cycles of exactly that many, then joins and packs the rest. Begins with the cheapest
// edges of each node, or with those of the cheapest cover by cycles of any length.
enum class FirstEdges { nearest, cover };
std::vector<int> greedy_cycles(const EdgeCosts& costs, int num_cycles, int length,
                               FirstEdges first);

// The cheapest edges out of each node, cheapest first; ties go to the next node by number.
std::vector<std::vector<int>> nearest_of(const EdgeCosts& costs, int most);

// Gives each node a successor, each a different one, at the least total cost, using each node's
// `most` cheapest edges out and in: the cheapest cover by cycles of any length. -1 for nodes that
// these edges leave without a successor. Shortest augmenting paths (Jonker and Volgenant 1987) on
// the sparse edges.
std::vector<int> cheapest_successors(const EdgeCosts& costs, int most);

// Orders and rotates cycles of `length` nodes so that the edges between them are cheap: the ring of
// gradients leaves a cycle at the node before the one where it entered. A beam search from every
// node.
std::vector<int> chain_cycles(const EdgeCosts& costs, const std::vector<int>& nodes, int length);

}  // namespace rm
