#include "controller/core/planning.h"

#include <algorithm>

namespace rm {
namespace {

std::vector<const Node*> by_registration(const State& state) {
    std::vector<const Node*> nodes;
    for (const auto& [id, node] : state.nodes) {
        if (node.state != NodeState::gone) nodes.push_back(&node);
    }
    std::sort(nodes.begin(), nodes.end(),
              [](const Node* a, const Node* b) { return a->number < b->number; });
    return nodes;
}

std::string describe(const State& state, const Holder& holder) {
    if (find_job(state, holder.job) != nullptr) return "job " + holder.job.value;
    return format("attempt {}, which this controller does not know", holder.epoch);
}

bool is_told(const Job& job) {
    return job.blocking_reasons.size() == 1 && job.blocking_reasons.front() == behind_reason();
}

}  // namespace

std::string behind_reason() {
    return format("waits behind {} jobs; fits after one of them", kMaxPlanned);
}

PlanningSnapshot planning_snapshot(const State& state, WallTime now) {
    PlanningSnapshot snapshot{.version = state.planning_version, .now = now};
    std::vector<const Job*> pending;
    for (const JobId& id : state.live_jobs) {
        const Job* job = find_job(state, id);
        if (job->state == JobState::pending) pending.push_back(job);
    }
    const std::size_t planned = std::min(pending.size(), kMaxPlanned);
    std::partial_sort(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(planned),
                      pending.end(),
                      [](const Job* a, const Job* b) { return a->number < b->number; });
    for (std::size_t i = planned; i < pending.size(); ++i) {
        if (!is_told(*pending[i])) snapshot.behind.push_back(pending[i]->id);
    }
    pending.resize(planned);
    for (const Job* job : pending) {
        snapshot.pending.push_back({job->id, job->spec, job->submitted, job->excluded});
    }
    const auto holders = device_holders(state);
    for (const Node* node : by_registration(state)) {
        for (const DeviceInfo& info : node->inventory.devices) {
            PlanningDevice device{
                .id = {node->id, info.index}, .kind = info.kind, .build = node->build};
            const auto holder = holders.find(device.id);
            if (holder != holders.end()) {
                device.availability = Availability::busy;
                device.held_by = describe(state, holder->second);
            } else if (!node->session.up) {
                device.availability = Availability::unreachable;
            } else if (!node->drained.empty()) {
                device.availability = Availability::drained;
            }
            snapshot.devices.push_back(std::move(device));
        }
    }
    return snapshot;
}

}  // namespace rm
