#include "controller/http/metrics/plan_metrics.h"

#include "service/http/metrics.h"

namespace rm {

std::string plan_metrics(const std::vector<PlannedRun>& runs) {
    prometheus::Registry registry;
    auto& errors = gauge_family(registry, "ringmaster_plan_error_ratio",
                                "What a run's last steps took over what its plan said, less 1: "
                                "step, the median time of nine; device_memory, of rank 0.");
    for (const PlannedRun& run : runs) {
        const std::vector<StepReport> last = run.last_of_stage();
        if (last.empty()) continue;
        const auto set = [&](const char* quantity, double measured, double predicted) {
            errors.Add({{"run", run.job.value}, {"quantity", quantity}})
                .Set(measured / predicted - 1);
        };
        set("step", median_step(last).value, run.predicted.step.value);
        set("device_memory", static_cast<double>(last.front().memory.total.value),
            static_cast<double>(run.predicted.device.value));
    }
    return expose(registry);
}

}  // namespace rm
