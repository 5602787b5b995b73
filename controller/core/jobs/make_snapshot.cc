#include "controller/core/jobs/make_snapshot.h"

#include <algorithm>

#include "controller/core/jobs/job_cost.h"
#include "controller/core/jobs/plan_correction.h"
#include "controller/core/jobs/retry.h"
#include "controller/core/roots/job_files.h"

namespace rm {
namespace {

std::string describe(const State& state, const Holder& holder) {
    const Attempt* attempt = find_attempt(state, holder.epoch);
    if (attempt != nullptr && is_terminal(attempt->state)) {
        return format("what may be left of attempt {}", holder.epoch);
    }
    if (attempt != nullptr) return "job " + holder.job.value;
    return format("attempt {}, which this controller does not know", holder.epoch);
}

// A node that has been away too long is missing, as are the devices that it may still hold: the
// time they become free is unknown.
Availability availability_of(const Node& node, const DeviceInfo& device, bool is_held) {
    if (!node.session.up && node.state != NodeState::ready) return Availability::missing;
    if (is_held) return Availability::busy;
    if (!node.session.up) return Availability::unreachable;
    if (!node.drained.empty()) return Availability::drained;
    return device.unfit.empty() ? Availability::free : Availability::unfit;
}

// All pending jobs: the first kMaxPlanned in queue order, then the others in any order.
std::vector<const Job*> queue(const State& state) {
    std::vector<const Job*> pending;
    for (const JobId& id : state.live_jobs) {
        const Job* job = find_job(state, id);
        if (job->state == JobState::pending) pending.push_back(job);
    }
    const std::size_t planned = std::min(pending.size(), kMaxPlanned);
    std::partial_sort(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(planned),
                      pending.end(), [](const Job* a, const Job* b) {
                          return std::pair(b->spec.priority, a->number) <
                                 std::pair(a->spec.priority, b->number);
                      });
    return pending;
}

PlanningJob describe(const State& state, const Job& job, WallTime now) {
    PlanningJob out{.id = job.id,
                    .spec = job.spec,
                    .waiting_since = state.queued.at(job.id),
                    .excluded = job.excluded,
                    .waits = {}};
    // Its attempts have ended: `now`, a steady time, ends none of them.
    out.spent_usd = spent_usd(state, job, now);
    // The reason with which it returned to the queue says when its retry is due.
    if (backs_off(job, now)) out.waits = job.blocking_reasons.front();
    if (const Reason hold = hold_reason(state, now); !hold.empty()) out.waits = hold;
    return out;
}

PlanningDevice describe(const Node& node, const DeviceInfo& info) {
    PlanningDevice device{.id = {node.id, info.index},
                          .kind = info.kind,
                          .build = node.build,
                          .nccl = node.inventory.software.nccl};
    device.memory = info.memory;
    device.num_threads = info.num_threads;
    device.host_memory = info.host_memory;
    return device;
}

// Profiles are long: devices of one kind and driver share them.
class Profiles {
public:
    explicit Profiles(const State& state) : state_(state) {}

    int of(const Node& node, const std::string& kind) {
        const std::string driver = profile_driver(node.inventory, kind, Precision::bf16);
        const auto [known, fresh] = known_.try_emplace({kind, driver}, -1);
        if (!fresh) return known->second;
        MeasuredSpeeds speeds;
        take(Precision::bf16, {kind, driver}, speeds.bf16, speeds.bf16_correction);
        if (kind == "cpu") {
            const ProfileKey key{kind, profile_driver(node.inventory, kind, Precision::fp32)};
            take(Precision::fp32, key, speeds.fp32, speeds.fp32_correction);
        }
        if (speeds.bf16.empty() && speeds.fp32.empty()) return -1;
        known->second = static_cast<int>(found.size());
        found.push_back(std::move(speeds));
        return known->second;
    }

    std::vector<MeasuredSpeeds> found;

private:
    void take(Precision precision, const ProfileKey& key, std::string& text,
              double& correction) const {
        const auto kept = state_.profiles.find(key);
        if (kept == state_.profiles.end()) return;
        text = kept->second.measured.text;
        correction = plan_correction(state_, precision, kept->second);
    }

    const State& state_;
    std::map<ProfileKey, int> known_;
};

// Jobs with the same files share what is found about them.
class Files {
public:
    Files(const State& state, WallTime now)
        : state_(state), now_(now), nodes_differ_(nodes_differ(state)) {}

    int of(const Job& job) {
        if (!nodes_differ_) return -1;
        const FilesNeed need = files_needed(state_, job);
        const std::string key =
            format("{}{} {} {} {}", need.check.key, need.copies, need.parameters,
                   need.parameter_bytes, need.default_checkpoints);
        const auto [known, fresh] = known_.try_emplace(key, static_cast<int>(found.size()));
        if (fresh) found.push_back(convert(job_files(state_, need, now_)));
        return known->second;
    }

    std::vector<PlanningFiles> found;

private:
    static PlanningFiles convert(const JobFiles& files) {
        PlanningFiles out{.nodes = {}, .reasons = files.reasons, .waits = files.waits};
        for (const auto& [id, node] : files.nodes)
            out.nodes[id] = {to_string(node.against), node.place};
        return out;
    }

    const State& state_;
    const WallTime now_;
    const bool nodes_differ_;
    std::map<std::string, int> known_;
};

void set_devices(const State& state, PlanningSnapshot& snapshot) {
    snapshot.devices = planning_devices(state);
    Profiles profiles(state);
    for (PlanningDevice& device : snapshot.devices)
        device.profile = profiles.of(*find_node(state, device.id.node), device.kind);
    snapshot.profiles = std::move(profiles.found);
}

Plan plan_of(const Attempt& attempt) {
    Plan plan{.mesh = attempt.mesh,
              .zero = attempt.zero,
              .placement = {},
              .memory = attempt.memory,
              .network = attempt.network,
              .collective_timeout = attempt.collective_timeout,
              .predicted = attempt.predicted,
              .rates = attempt.rates};
    for (const RankRecord& rank : attempt.ranks)
        plan.placement.push_back(rank.device);
    return plan;
}

// Adds a device of a node that is gone; nothing if it is there, or nothing is known of it.
void add_lost(const State& state, const DeviceId& id, PlanningSnapshot& snapshot) {
    const Node* node = find_node(state, id.node);
    if (node == nullptr || node->state != NodeState::gone) return;
    const DeviceInfo* info = find_device(*node, id.index);
    if (info == nullptr) return;
    PlanningDevice device = describe(*node, *info);
    device.availability = Availability::missing;
    // The present speeds of its kind are the best that is known.
    for (const PlanningDevice& other : snapshot.devices) {
        if (other.kind == device.kind) device.profile = std::max(device.profile, other.profile);
    }
    snapshot.devices.push_back(std::move(device));
}

bool is_told(const Job& job) {
    return job.blocking_reasons.size() == 1 &&
           job.blocking_reasons.front().kind == ReasonKind::behind;
}

}  // namespace

Reason behind_reason() {
    return {format("waits behind {} jobs", kMaxPlanned), "fits after one of them",
            ReasonKind::behind};
}

std::vector<JobId> planned_jobs(const State& state) {
    std::vector<JobId> ids;
    for (const Job* job : queue(state)) {
        if (ids.size() == kMaxPlanned) break;
        ids.push_back(job->id);
    }
    return ids;
}

std::vector<PlanningDevice> planning_devices(const State& state) {
    std::vector<PlanningDevice> devices;
    const auto holders = device_holders(state);
    for (const Node* node : nodes_by_registration(state)) {
        if (node->state == NodeState::gone) continue;
        for (const DeviceInfo& info : node->inventory.devices) {
            PlanningDevice device = describe(*node, info);
            const auto holder = holders.find(device.id);
            device.availability = availability_of(*node, info, holder != holders.end());
            if (device.availability == Availability::busy)
                device.held_by = describe(state, holder->second);
            if (device.availability == Availability::unfit) device.held_by = info.unfit;
            devices.push_back(std::move(device));
        }
    }
    return devices;
}

PlanningSnapshot planning_snapshot(const State& state, WallTime now) {
    PlanningSnapshot snapshot{
        .version = state.planning_version, .now = now, .max_bypass = state.max_bypass};
    snapshot.prices = prices_by_kind(state);
    const std::vector<const Job*> pending = queue(state);
    Files files(state, now);
    for (std::size_t i = 0; i < pending.size(); ++i) {
        if (i < kMaxPlanned) {
            snapshot.pending.push_back(describe(state, *pending[i], now));
            snapshot.pending.back().files = files.of(*pending[i]);
        } else if (!is_told(*pending[i])) {
            snapshot.behind.push_back(pending[i]->id);
        }
    }
    snapshot.files = std::move(files.found);
    set_devices(state, snapshot);
    return snapshot;
}

PlanningSnapshot idle_snapshot(const State& state, const JobSpec& spec, WallTime now) {
    PlanningSnapshot snapshot{
        .version = state.planning_version, .now = now, .max_bypass = state.max_bypass};
    snapshot.prices = prices_by_kind(state);
    snapshot.pending.push_back(
        {.id = {"planned"}, .spec = spec, .waiting_since = now, .excluded = {}, .waits = {}});
    set_devices(state, snapshot);
    for (PlanningDevice& device : snapshot.devices) {
        const bool may_be_free = device.availability == Availability::busy ||
                                 device.availability == Availability::unreachable;
        if (may_be_free) device.availability = Availability::free;
    }
    return snapshot;
}

PlanningSnapshot recorded_snapshot(const State& state, const Attempt& attempt, WallTime now) {
    const Job& job = *find_job(state, attempt.job);
    PlanningSnapshot snapshot = idle_snapshot(state, job.spec, now);
    snapshot.pending.front().id = job.id;
    snapshot.pending.front().excluded = job.excluded;
    snapshot.recorded = plan_of(attempt);
    for (const DeviceId& id : snapshot.recorded->placement)
        add_lost(state, id, snapshot);
    return snapshot;
}

void add_links(PlanningSnapshot& snapshot, const MeasuredLinks& measured) {
    std::vector<NodeId> nodes;
    for (const PlanningDevice& device : snapshot.devices) {
        if (nodes.empty() || nodes.back() != device.id.node) nodes.push_back(device.id.node);
    }
    snapshot.links = measured(nodes);
}

}  // namespace rm
