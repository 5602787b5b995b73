#include "cli/slurm_topology.h"

#include <algorithm>
#include <map>
#include <vector>

namespace rm {
namespace {

bool has(const std::vector<int>& members, int node) {
    return std::find(members.begin(), members.end(), node) != members.end();
}

// The sides of the trunks that list the node. An empty side (all other nodes) lists none: it does
// not set a node apart.
std::vector<std::size_t> sides_of(const LinkGraph& graph, int node) {
    std::vector<std::size_t> sides;
    for (std::size_t t = 0; t < graph.trunks.size(); ++t) {
        if (has(graph.trunks[t].from, node)) sides.push_back(2 * t);
        if (has(graph.trunks[t].to, node)) sides.push_back(2 * t + 1);
    }
    return sides;
}

}  // namespace

std::string slurm_topology(const LinkGraph& graph) {
    std::vector<std::vector<int>> leaves;
    std::map<std::vector<std::size_t>, std::size_t> leaf_of;
    for (int node = 0; node < graph.num_nodes(); ++node) {
        const auto [leaf, is_new] = leaf_of.emplace(sides_of(graph, node), leaves.size());
        if (is_new) leaves.emplace_back();
        leaves[leaf->second].push_back(node);
    }
    std::string text = "# From measured links; Slurm knows no speeds, only who shares a switch.\n";
    std::string switches;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        text += format("SwitchName=leaf{} Nodes=", i);
        for (std::size_t n = 0; n < leaves[i].size(); ++n) {
            text += format("{}{}", n == 0 ? "" : ",",
                           graph.nodes[static_cast<std::size_t>(leaves[i][n])].id);
        }
        text += "\n";
        switches += format("{}leaf{}", i == 0 ? "" : ",", i);
    }
    if (leaves.size() > 1) text += format("SwitchName=top Switches={}\n", switches);
    return text;
}

}  // namespace rm
