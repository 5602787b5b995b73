#include "controller/loops/measure_loop.h"

namespace rm {
namespace {

constexpr Seconds kLook{5};
constexpr std::size_t kFewSteps = 5;
constexpr Seconds kRecent{600};  // an attempt that ended before needs no further look

std::set<Epoch> epochs_of(const std::vector<PlannedRun>& runs) {
    std::set<Epoch> epochs;
    for (const PlannedRun& run : runs)
        epochs.insert(run.epoch);
    return epochs;
}

}  // namespace

MeasureLoop::MeasureLoop(OpsContext& ops) : ops_(ops), loop_([this](auto&) { return look(); }) {}

// The first steps of an attempt take longer than the others.
Seconds MeasureLoop::look() {
    const auto runs = planned_runs(ops_, ops_.clock.wall() + Seconds{-kRecent.value});
    const std::set<Epoch> known = epochs_of(runs);
    std::erase_if(closed_, [&](Epoch epoch) { return !known.contains(epoch); });
    for (const PlannedRun& run : runs) {
        const std::vector<StepReport> steps = run.last_of_stage();
        if (steps.size() < kFewSteps || !is_due(run, steps)) continue;
        const Seconds step = median_step(steps);
        if (step != run.measured_step) ops_.control.post(StepMeasured{run.epoch, step});
    }
    return kLook;
}

bool MeasureLoop::is_due(const PlannedRun& run, const std::vector<StepReport>& steps) {
    if (run.ended.micros != 0) {
        next_.erase(run.epoch);
        return closed_.insert(run.epoch).second;
    }
    const std::int64_t done = steps.front().step;
    const auto [next, fresh] = next_.try_emplace(run.epoch, done);
    // This controller has begun since: the attempt was measured before.
    if (fresh && run.measured_step.value > 0) next->second = 2 * done;
    if (done < next->second) return false;
    next->second = 2 * done;
    return true;
}

}  // namespace rm
