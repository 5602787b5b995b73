#include "controller/http/metrics/fleet_metrics.h"

#include <algorithm>
#include <array>

#include "controller/core/jobs/has_series.h"
#include "controller/core/jobs/make_snapshot.h"
#include "service/http/metrics.h"

namespace rm {
namespace {

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
        case Availability::unfit:
            return "unfit";
    }
    return "?";
}

// Sets one gauge per state, including those at zero.
template <typename Names>
void set_counts(prometheus::Family<prometheus::Gauge>& family, const Names& states,
                std::map<std::string_view, int> counts) {
    for (const std::string_view state : states)
        family.Add({{"state", std::string(state)}}).Set(counts[state]);
}

template <typename Rows>
std::map<std::string_view, int> count_states(const Rows& rows) {
    std::map<std::string_view, int> counts;
    for (const auto& [id, row] : rows)
        ++counts[to_string(row.state)];
    return counts;
}

// Bucket bounds for the queue wait of a job in seconds, up to a day.
prometheus::Histogram::BucketBoundaries wait_buckets() {
    return {0.1, 0.3, 1, 3, 10, 30, 60, 300, 900, 3600, 3 * 3600, 8 * 3600, 24 * 3600};
}

Labels run_labels(const Job& job, const Attempt& attempt) {
    const auto& stages = job.spec.stages;
    const auto stage = std::min(usize(attempt.stages_done), stages.size() - 1);
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
                            "Devices by state: free, busy, unreachable, drained, unfit.")),
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
    set_counts(nodes_, kNames<NodeState>, count_states(state.nodes));
    set_counts(jobs_, kNames<JobState>, count_states(state.jobs));
    std::map<std::string_view, int> devices;
    for (const PlanningDevice& device : planning_devices(state))
        ++devices[to_string(device.availability)];
    set_counts(devices_, std::array{"free", "busy", "unreachable", "drained", "unfit"}, devices);
    update_run_info(state, now);
}

void FleetMetrics::update_run_info(const State& state, WallTime now) {
    std::map<Labels, prometheus::Gauge*> runs;
    for (const auto& [id, job] : state.jobs) {
        if (!has_series(state, job, now)) continue;
        const Labels labels = run_labels(job, *newest_attempt(state, id));
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
