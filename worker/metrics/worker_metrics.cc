#include "worker/metrics/worker_metrics.h"

#include <algorithm>

namespace rm {
namespace {

int device_of(const AttemptStatus& status, int rank) {
    const auto found = std::find_if(status.ranks.begin(), status.ranks.end(),
                                    [&](const RankStatus& entry) { return entry.rank == rank; });
    return found == status.ranks.end() ? -1 : found->device;
}

}  // namespace

WorkerMetrics::WorkerMetrics(NodeId node, Machine machine)
    : node_(std::move(node.value)),
      device_memory_(std::move(machine.device_memory)),
      machine_(registry_, node_, std::move(machine.directory)) {}

void WorkerMetrics::set_certificate_expiry(WallTime until) {
    const std::lock_guard lock(mutex_);
    machine_.set_certificate_expiry(until);
}

HttpResponse WorkerMetrics::response() {
    machine_.update();
    return metrics_response(registry_);
}

void WorkerMetrics::start_from(const std::vector<Observation>& seen, MonoTime now) {
    const std::lock_guard lock(mutex_);
    for (const Observation& attempt : seen) {
        if (!attempt.status.processes_left) ended_before_.insert(attempt.status.epoch);
    }
    take_all(seen, now);
}

void WorkerMetrics::update(const std::vector<Observation>& seen, MonoTime now) {
    const std::lock_guard lock(mutex_);
    take_all(seen, now);
}

void WorkerMetrics::update(const std::vector<GpuReading>& readings) {
    const std::lock_guard lock(mutex_);
    const std::map<int, double> joules = gpus_.update(readings);
    for (auto& [job, run] : runs_) {
        if (run.ended) continue;
        for (const auto& [rank, device] : run.devices) {
            const auto used = joules.find(device);
            if (used != joules.end()) run.ranks.at(rank)->add_energy(used->second);
        }
    }
}

void WorkerMetrics::take_all(const std::vector<Observation>& seen, MonoTime now) {
    for (const Observation& attempt : seen)
        take(attempt, now);
    std::erase_if(runs_, [&](const auto& entry) {
        return entry.second.ended && now - *entry.second.ended > kKeepEnded;
    });
}

void WorkerMetrics::take(const Observation& seen, MonoTime now) {
    const AttemptStatus& status = seen.status;
    const auto known = runs_.find(status.job);
    if (ended_before_.contains(status.epoch)) return;
    // Directories of ended attempts stay a while. Without new reports they neither bring a run back
    // nor end a newer one; new reports show a run that started and ended between two looks.
    if (known == runs_.end() && !status.processes_left && seen.reports.empty()) return;
    if (known != runs_.end() && status.epoch < known->second.epoch) return;
    Run& run = runs_[status.job];
    if (status.epoch > run.epoch) {
        run.epoch = status.epoch;
        run.ended.reset();
        run.devices.clear();  // they may be on other nodes now
        run.ranks.clear();
    }
    // From the start: the energy of a rank counts before its first step.
    for (const RankStatus& rank : status.ranks)
        rank_series(run, status, rank.rank);
    for (const RankReport& report : seen.reports)
        take(run, status, report);
    if (status.processes_left) return;
    if (!run.ended) run.ended = now;
    if (run.train) run.train->ended();
}

void WorkerMetrics::take(Run& run, const AttemptStatus& status, const RankReport& report) {
    const auto* step = std::get_if<StepReport>(&report.line.report);
    if (step != nullptr) rank_series(run, status, report.rank).update(*step);
    if (report.rank != 0) return;
    if (!run.train) run.train = std::make_unique<TrainSeries>(train_, status.job.value);
    if (step != nullptr) run.train->update(*step, report.line.time);
    if (const auto* checkpoint = std::get_if<CheckpointReport>(&report.line.report)) {
        run.train->update(*checkpoint, report.line.time);
    }
    if (const auto* evaluation = std::get_if<EvaluationReport>(&report.line.report))
        run.train->update(*evaluation);
    if (const auto* suite = std::get_if<SuiteReport>(&report.line.report))
        run.train->update(*suite);
    if (std::holds_alternative<AlarmReport>(report.line.report)) run.train->count_alarm();
}

RankSeries& WorkerMetrics::rank_series(Run& run, const AttemptStatus& status, int rank) {
    std::unique_ptr<RankSeries>& series = run.ranks[rank];
    if (!series) {
        run.devices[rank] = device_of(status, rank);
        series = std::make_unique<RankSeries>(
            ranks_, prometheus::Labels{{"run", status.job.value},
                                       {"node", node_},
                                       {"gpu", format("{}", run.devices.at(rank))},
                                       {"rank", format("{}", rank)}});
        const auto memory = device_memory_.find(run.devices.at(rank));
        if (memory != device_memory_.end()) series->set_capacity(memory->second);
    }
    return *series;
}

}  // namespace rm
