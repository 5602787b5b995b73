#include "controller/http/plan_metrics.h"

#include <algorithm>

#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"
#include "service/http/metrics.h"

namespace rm {
namespace {

constexpr int kLastSteps = 9;  // whose median is compared: one slow step is no error of a plan

std::vector<PlannedRun> predicted_attempts(const State& state) {
    std::vector<PlannedRun> runs;
    for (const JobId& id : state.live_jobs) {
        const Attempt* attempt = newest_attempt(state, id);
        if (attempt == nullptr || is_terminal(attempt->state)) continue;
        if (!(attempt->predicted.step.value > 0)) continue;
        runs.push_back({id,
                        attempt->epoch,
                        find_job(state, id)->spec.longest_stage_index(),
                        attempt->predicted,
                        {}});
    }
    return runs;
}

double median_step(std::vector<StepReport> steps) {
    const auto middle = steps.begin() + std::ssize(steps) / 2;
    std::nth_element(
        steps.begin(), middle, steps.end(),
        [](const StepReport& a, const StepReport& b) { return a.seconds < b.seconds; });
    return middle->seconds;
}

}  // namespace

std::vector<PlannedRun> planned_runs(OpsContext& ops) {
    std::vector<PlannedRun> runs = ops.control.read(predicted_attempts);
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

std::string plan_metrics(const std::vector<PlannedRun>& runs) {
    prometheus::Registry registry;
    auto& errors = gauge_family(registry, "ringmaster_plan_error_ratio",
                                "What a run's last steps took over what its plan said, less 1: "
                                "step, the median time of nine; device_memory, of rank 0.");
    for (PlannedRun run : runs) {
        std::erase_if(run.last, [&](const StepReport& step) { return step.stage != run.stage; });
        if (run.last.empty()) continue;
        const auto set = [&](const char* quantity, double measured, double predicted) {
            errors.Add({{"run", run.job.value}, {"quantity", quantity}})
                .Set(measured / predicted - 1);
        };
        set("step", median_step(run.last), run.predicted.step.value);
        set("device_memory", static_cast<double>(run.last.front().memory.total.value),
            static_cast<double>(run.predicted.device.value));
    }
    return expose(registry);
}

}  // namespace rm
