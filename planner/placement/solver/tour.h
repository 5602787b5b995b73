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

// `num_cycles` disjoint closed cycles of `length` nodes each, one after the other, that cost little
// in sum. Greedy by edges, or from the cheapest cover by cycles of any length; then improved at
// their worst edges by exchanges of segments between cycles, moves within a cycle and reversals.
// Nodes may be left over. Fixed effort, no randomness.
std::vector<int> find_cycles(const EdgeCosts& costs, int num_cycles, int length);

// Cycles to begin with: edges in order of their cost, as far as they make paths of at most `length`
// nodes and cycles of exactly that; what is left is joined and packed. First come the cheapest
// edges of each node, or those of the cheapest cover by cycles of any length.
enum class FirstEdges { nearest, cover };
std::vector<int> greedy_cycles(const EdgeCosts& costs, int num_cycles, int length,
                               FirstEdges first);

// The cheapest edges out of each node, cheapest first; of equal ones those to the next by number.
std::vector<std::vector<int>> nearest_of(const EdgeCosts& costs, int most);

// A successor for each node so that every node is the successor of one and the sum of the edges is
// least, among each node's `most` cheapest edges out and in: the cheapest cover by cycles of any
// length. -1 for nodes that these edges leave without one. Shortest augmenting paths (Jonker and
// Volgenant 1987) on the sparse edges.
std::vector<int> cheapest_successors(const EdgeCosts& costs, int most);

// Cycles of `length` nodes one behind the other and each turned, so that the ways between them are
// short: the ring of gradients leaves a cycle at the node before the one that it came in by. A beam
// search over all nodes to begin at.
std::vector<int> chain_cycles(const EdgeCosts& costs, const std::vector<int>& nodes, int length);

}  // namespace rm
