#include <map>

#include "controller/loops/survey_loop.h"
#include "planner/placement/job_traffic.h"

namespace rm {
namespace {

// All that runs on a node.
struct Load {
    std::set<std::string> jobs;
    std::set<NodeId> sends_to;
};

void add(const State& state, const Attempt& attempt, std::map<NodeId, Load>& loads) {
    for (const NodeId& node : attempt.nodes())
        loads[node].jobs.insert(attempt.job.value);
    std::vector<DeviceId> ranks;
    for (const RankRecord& rank : attempt.ranks)
        ranks.push_back(rank.device);
    const JobTraffic traffic = traffic_of(find_job(state, attempt.job)->spec, attempt.mesh);
    for (const auto& [from, to] : node_links(traffic.phases, attempt.mesh, ranks))
        loads[from].sends_to.insert(to);
}

}  // namespace

std::vector<SurveyNode> survey_nodes(const State& state) {
    std::map<NodeId, Load> loads;
    for (const Attempt* attempt : live_attempts(state))
        add(state, *attempt, loads);
    std::vector<SurveyNode> nodes;
    for (const Node* node : nodes_by_registration(state)) {
        if (!node->session.up || node->session.probe_port == 0) continue;
        Load& load = loads[node->id];
        nodes.push_back({.id = node->id,
                         .address = node->inventory.data_address,
                         .probe_port = node->session.probe_port,
                         .num_devices = static_cast<int>(node->inventory.devices.size()),
                         .jobs = std::move(load.jobs),
                         .sends_to = std::move(load.sends_to)});
    }
    return nodes;
}

}  // namespace rm
