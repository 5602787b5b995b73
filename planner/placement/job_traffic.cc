#include "planner/placement/job_traffic.h"

#include <algorithm>

#include "topology/step_traffic.h"

namespace rm {
namespace {

constexpr const char* kStandIn = "llama3-8b";

}  // namespace

JobTraffic traffic_of(const JobSpec& spec, const Mesh& mesh) {
    JobTraffic traffic;
    const bool is_preset = find_preset(spec.model.preset).ok();
    traffic.is_stand_in = !is_preset;
    traffic.model = is_preset ? spec.model.preset : kStandIn;
    const auto longest = std::max_element(
        spec.stages.begin(), spec.stages.end(),
        [](const StageSpec& a, const StageSpec& b) { return a.context < b.context; });
    if (longest == spec.stages.end()) return traffic;
    traffic.context = longest->context;
    traffic.phases =
        step_traffic(*find_preset(traffic.model), mesh,
                     {.context = longest->context,
                      .batch = longest->batch,
                      .zero = spec.zero,
                      .compute_bytes = bytes_of(precision_of(spec.precision)),
                      .gradient_bytes = bytes_of(precision_of(spec.optimizer.gradients))});
    return traffic;
}

std::set<std::pair<NodeId, NodeId>> node_links(const StepTraffic& phases, const Mesh& mesh,
                                               const std::vector<DeviceId>& ranks) {
    std::set<std::pair<NodeId, NodeId>> links;
    for (const CommPhase& phase : phases) {
        for (const Flow& flow : flows_of(mesh, phase)) {
            const NodeId& from = ranks[usize(flow.from)].node;
            const NodeId& to = ranks[usize(flow.to)].node;
            if (from != to) links.insert({from, to});
        }
    }
    return links;
}

}  // namespace rm
