#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "spec/job_spec.h"
#include "spec/model_preset.h"
#include "topology/placement_cost.h"

namespace rm {

// Traffic of one step of a job, by the formulas of docs/communication.md.
struct JobTraffic {
    std::string model;         // whose sizes are in the formulas
    bool is_stand_in = false;  // the job's model is no preset: only proportions are known
    std::int64_t context = 0;  // tokens of a sequence in the stage with the longest
    StepTraffic phases;        // empty: the mesh is one rank
};
// The stages are those of a valid spec: at least one.
JobTraffic traffic_of(const JobSpec& spec, const Mesh& mesh);
// The phases of the stage with the longest context, for the job's own model.
StepTraffic traffic_of(const JobSpec& spec, const ModelConfig& model, const Mesh& mesh, int zero);

// The nodes between which these phases move bytes, sender first; `ranks` by rank.
std::set<std::pair<NodeId, NodeId>> node_links(const StepTraffic& phases, const Mesh& mesh,
                                               const std::vector<DeviceId>& ranks);

}  // namespace rm
