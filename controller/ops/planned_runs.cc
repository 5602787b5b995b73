#include "controller/ops/planned_runs.h"

#include <algorithm>
#include <limits>

#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

constexpr int kLastSteps = 9;  // whose median is compared: one slow step is no error of a plan
constexpr WallTime kNever{std::numeric_limits<std::int64_t>::max()};
constexpr int kMostEnded = 1000;  // attempts: commits wait while a reader holds the state

PlannedRun run_of(const State& state, const Attempt& attempt) {
    return {attempt.job,
            attempt.epoch,
            find_job(state, attempt.job)->spec.longest_stage_index(),
            attempt.predicted,
            {},
            attempt.measured_step,
            attempt.ended};
}

std::vector<PlannedRun> predicted_attempts(const State& state, WallTime ended_since) {
    std::vector<PlannedRun> runs;
    for (const Attempt* attempt : live_attempts(state)) {
        if (attempt->predicted.step.value > 0) runs.push_back(run_of(state, *attempt));
    }
    if (ended_since == kNever) return runs;
    int looks = 0;
    for (auto at = state.attempts.rbegin(); at != state.attempts.rend(); ++at) {
        if (++looks > kMostEnded) break;
        const Attempt& attempt = at->second;
        const bool counts = is_terminal(attempt.state) && attempt.ended >= ended_since;
        if (counts && attempt.predicted.step.value > 0) runs.push_back(run_of(state, attempt));
    }
    return runs;
}

}  // namespace

std::vector<StepReport> PlannedRun::last_of_stage() const {
    std::vector<StepReport> steps = last;
    std::erase_if(steps, [&](const StepReport& step) { return step.stage != stage; });
    return steps;
}

std::vector<PlannedRun> planned_runs(OpsContext& ops) {
    return planned_runs(ops, kNever);
}

std::vector<PlannedRun> planned_runs(OpsContext& ops, WallTime ended_since) {
    std::vector<PlannedRun> runs = ops.control.read(
        [&](const State& state) { return predicted_attempts(state, ended_since); });
    for (PlannedRun& run : runs) {
        const auto reports = ops.telemetry.last_steps(run.epoch, 0, kLastSteps);
        if (!reports) continue;
        for (const KeptReport& kept : *reports) {
            pb::StepReport message;
            if (message.ParseFromString(kept.bytes)) run.last.push_back(from_proto(message));
        }
    }
    return runs;
}

Seconds median_step(std::vector<StepReport> steps) {
    const auto middle = steps.begin() + std::ssize(steps) / 2;
    std::nth_element(
        steps.begin(), middle, steps.end(),
        [](const StepReport& a, const StepReport& b) { return a.seconds < b.seconds; });
    return {middle->seconds};
}

}  // namespace rm
