#pragma once

#include <set>
#include <utility>
#include <vector>

// Infers the network that explains rates measured side by side.
namespace rm {

using NodePair = std::pair<int, int>;

// One flow of an episode, Gbit/s.
struct MeasuredFlow {
    int from = 0;
    int to = 0;
    double rate = 0;
};
// Flows that ran at the same time; a single flow ran alone.
using Episode = std::vector<MeasuredFlow>;

// The capacity that a group's members share towards all other nodes. 0: no bottleneck was seen.
struct GroupUplink {
    double up = 0;    // leaving the group, all flows together
    double down = 0;  // entering it
};

struct InferredNetwork {
    std::vector<double> out;           // by node: its best sending rate; its interface
    std::vector<double> in;            // by node
    std::vector<int> group;            // by node: 0, 1, ...; nodes of a group are near each other
    std::vector<GroupUplink> uplinks;  // by group
    // [from][to]: the pair's rate alone, measured or modelled; 0: unknown.
    std::vector<std::vector<double>> rate;
};

// A pair is near when it ran (almost) as fast as its ends allow. The nodes of a group are near each
// other on average. A group's uplink is the rate of a flow that crossed it alone and was slower
// than its ends; without such a flow, the total of the flows that crossed it at once and were
// slower than theirs. Pairs between groups that never ran alone get the least rate of their ends
// and uplinks; so do pairs that never ran at all.
//
// Sharing::none: all are one group, as between workers of one machine, whose memory and cores vary
// from one moment to the next.
enum class Sharing { inferred, none };
InferredNetwork infer_network(int num_nodes, const std::vector<Episode>& episodes,
                              Sharing sharing = Sharing::inferred);

// The ordered pairs to measure again alone, most informative first: those that the model does not
// explain, then for each pair of groups and direction two representatives. Pairs that ran alone are
// not among them.
std::vector<NodePair> worth_measuring_alone(const InferredNetwork& network,
                                            const std::vector<Episode>& episodes);

}  // namespace rm
