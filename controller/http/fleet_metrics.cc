#include "controller/http/fleet_metrics.h"

#include <array>

#include "controller/core/make_snapshot.h"
#include "service/metrics.h"

namespace rm {
namespace {

constexpr Seconds kKeptAfterEnd{120};
constexpr std::array<NodeState, 3> kNodeStates = {NodeState::ready, NodeState::unreachable,
                                                  NodeState::gone};
constexpr std::array<JobState, 7> kJobStates = {
    JobState::pending,   JobState::starting, JobState::running,  JobState::stopping,
    JobState::succeeded, JobState::failed,   JobState::cancelled};

using Labels = std::map<std::string, std::string>;

std::string_view to_string(Availability availability) {
    switch (availability) {
        case Availability::free:
            return "free";
        case Availability::busy:
            return "busy";
        case Availability::missing:
        case Availability::unreachable:
            return "unreachable";
        case Availability::drained:
            return "drained";
    }
    return "?";
}

// Sets one gauge per state, also to zero.
template <typename States, typename Counts>
void set_counts(prometheus::Family<prometheus::Gauge>& family, const States& states,
                const Counts& counts) {
    for (const auto state : states) {
        const auto it = counts.find(state);
        family.Add({{"state", std::string(to_string(state))}})
            .Set(it == counts.end() ? 0 : it->second);
    }
}

// Seconds that a job may wait: from at once to a day.
prometheus::Histogram::BucketBoundaries wait_buckets() {
    return {0.1, 0.3, 1, 3, 10, 30, 60, 300, 900, 3600, 3 * 3600, 8 * 3600, 24 * 3600};
}

Labels run_labels(const Job& job, const Attempt& attempt) {
    const auto& stages = job.spec.stages;
    const auto stage = std::min(static_cast<std::size_t>(attempt.stages_done), stages.size() - 1);
    return {{"run", job.id.value},
            {"model", job.spec.model.name()},
            {"context", std::to_string(stages[stage].context)},
            {"user", job.owner},
            {"mesh", to_string(attempt.mesh)}};
}

}  // namespace

FleetMetrics::FleetMetrics(const std::string& version)
    : registry_(std::make_unique<prometheus::Registry>()),
      nodes_(gauge_family(*registry_, "ringmaster_nodes", "Nodes by state.")),
      devices_(gauge_family(*registry_, "ringmaster_devices",
                            "Devices by state: free, busy, unreachable, drained.")),
      jobs_(gauge_family(*registry_, "ringmaster_jobs", "Jobs by state, ended ones included.")),
      transitions_(counter_family(*registry_, "ringmaster_job_transitions_total",
                                  "Changes of a job's state since the controller started.")),
      run_info_(gauge_family(*registry_, "ringmaster_run_info",
                             "One for every job that has devices, or had until 2 minutes ago.")) {
    gauge_family(*registry_, "ringmaster_build_info", "Always 1; the labels say what runs here.")
        .Add({{"program", "ringmaster-controller"}, {"version", version}})
        .Set(1);
    queue_wait_ = &histogram_family(*registry_, "ringmaster_job_queue_wait_seconds",
                                    "Time that a job waited for devices: from its submission, "
                                    "or from the end of its last attempt.")
                       .Add({}, wait_buckets());
    telemetry_refused_ = &counter_family(*registry_, "ringmaster_telemetry_refused_total",
                                         "Times that a step report or a piece of a log was refused "
                                         "since the controller started, its disk being short of "
                                         "space; its worker keeps it and sends it again.")
                              .Add({});
}

FleetMetrics::~FleetMetrics() = default;

void FleetMetrics::observe(const std::vector<Transition>& transitions) {
    for (const Transition& t : transitions) {
        transitions_
            .Add({{"from", std::string(to_string(t.from))}, {"to", std::string(to_string(t.to))}})
            .Increment();
        if (t.from == JobState::pending && t.to == JobState::starting) {
            queue_wait_->Observe(t.waited.value);
        }
    }
}

void FleetMetrics::update(const State& state, WallTime now, std::int64_t telemetry_refused) {
    telemetry_refused_->Increment(
        std::max(0.0, static_cast<double>(telemetry_refused) - telemetry_refused_->Value()));
    std::map<NodeState, int> nodes;
    for (const auto& [id, node] : state.nodes)
        ++nodes[node.state];
    set_counts(nodes_, kNodeStates, nodes);
    std::map<JobState, int> jobs;
    for (const auto& [id, job] : state.jobs)
        ++jobs[job.state];
    set_counts(jobs_, kJobStates, jobs);
    std::map<Availability, int> devices;
    for (const PlanningDevice& device : planning_devices(state)) {
        const bool missing = device.availability == Availability::missing;
        ++devices[missing ? Availability::unreachable : device.availability];
    }
    set_counts(devices_,
               std::array{Availability::free, Availability::busy, Availability::unreachable,
                          Availability::drained},
               devices);
    update_run_info(state, now);
}

void FleetMetrics::update_run_info(const State& state, WallTime now) {
    std::map<Labels, prometheus::Gauge*> runs;
    for (const auto& [id, job] : state.jobs) {
        const Attempt* attempt = newest_attempt(state, id);
        if (attempt == nullptr) continue;
        if (is_terminal(job.state) && now - job.ended > kKeptAfterEnd) continue;
        const Labels labels = run_labels(job, *attempt);
        const auto known = runs_.find(labels);
        runs[labels] = known != runs_.end() ? known->second : &run_info_.Add(labels);
        runs[labels]->Set(1);
    }
    for (const auto& [labels, gauge] : runs_) {
        if (!runs.contains(labels)) run_info_.Remove(gauge);
    }
    runs_ = std::move(runs);
}

std::string FleetMetrics::expose() const {
    return rm::expose(*registry_);
}

}  // namespace rm
