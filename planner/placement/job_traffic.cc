#include "planner/placement/job_traffic.h"

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
    if (spec.stages.empty()) return traffic;
    const StageSpec& longest = spec.stages[usize(spec.longest_stage_index())];
    traffic.context = longest.context;
    traffic.phases = traffic_of(spec, *find_preset(traffic.model), mesh, spec.zero);
    return traffic;
}

StepTraffic traffic_of(const JobSpec& spec, const ModelConfig& model, const Mesh& mesh, int zero) {
    const StageSpec& longest = spec.stages[usize(spec.longest_stage_index())];
    return step_traffic(model, mesh,
                        {.context = longest.context,
                         .batch = longest.batch,
                         .zero = zero,
                         .compute_bytes = bytes_of(precision_of(spec.precision)),
                         .gradient_bytes = bytes_of(precision_of(spec.optimizer.gradients)),
                         .messages = spec.messages});
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
