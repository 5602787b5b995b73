#pragma once

#include <set>
#include <vector>

#include "controller/survey/tournament.h"

// From rates that were measured side by side to the network that explains them.
namespace rm {

// One flow of an episode, Gbit/s.
struct MeasuredFlow {
    int from = 0;
    int to = 0;
    double rate = 0;
};
// What ran at the same time; one flow: it ran alone.
using Episode = std::vector<MeasuredFlow>;

// What all members of a group share towards everybody else. 0: nothing that slows anybody was seen.
struct GroupUplink {
    double up = 0;    // leaving the group, all flows together
    double down = 0;  // entering it
};

struct InferredNetwork {
    std::vector<double> out;           // by node: the fastest it sent to anybody; its interface
    std::vector<double> in;            // by node
    std::vector<int> group;            // by node: 0, 1, ...; nodes of a group are near each other
    std::vector<GroupUplink> uplinks;  // by group
    // [from][to]: what the pair gets alone, measured so or by the model; 0: nothing is known.
    std::vector<std::vector<double>> rate;
};

// A pair is near when it ran (almost) as fast as its ends can. Groups are those that are near each
// other on average. Their uplink is what a flow got that crossed it alone and was slower than its
// ends; where none was, what the flows got together that crossed it at once and were. Pairs between
// groups that never ran alone get what interface and uplinks leave them; so do pairs that never ran
// at all.
//
// Sharing::none: all are one group, as between workers of one machine, whose memory and cores vary
// from one moment to the next.
enum class Sharing { inferred, none };
InferredNetwork infer_network(int num_nodes, const std::vector<Episode>& episodes,
                              Sharing sharing = Sharing::inferred);

// The ordered pairs to measure again alone, most telling first: those that the model does not
// explain, then for each pair of groups and direction two that stand for all of it. Pairs that ran
// alone are not among them.
std::vector<NodePair> worth_measuring_alone(const InferredNetwork& network,
                                            const std::vector<Episode>& episodes);

}  // namespace rm
