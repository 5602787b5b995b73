#include <cmath>

#include "controller/core/jobs/job_cost.h"
#include "controller/ops/explain/explain.h"

namespace rm {
namespace {

constexpr double kFarOff = 0.15;  // of the planned step

std::string signed_percent(double ratio) {
    return format("{}{:.1}%", ratio < 0 ? "" : "+", 100 * ratio);
}

std::string step_text(const Attempt& attempt) {
    const PlanPrediction& plan = attempt.predicted;
    std::string text = format("a step was planned to take {}", plan.step);
    if (plan.correction > 0) text += format(" (the profile's x {:.3})", plan.correction);
    if (attempt.measured_step.value <= 0) return text;
    return text + format(" and takes {} ({})", attempt.measured_step,
                         signed_percent(attempt.measured_step.value / plan.step.value - 1));
}

std::string cost_text(const Attempt& attempt, WallTime now) {
    const auto ranks = static_cast<int>(attempt.ranks.size());
    const RunCost planned = cost_of(attempt.rates, ranks, attempt.predicted.all);
    if (planned.money <= 0) return "";
    return format("; all steps cost {} by the plan, and {} so far",
                  money_text(planned.money, planned.currency),
                  money_text(cost_of(attempt, now).money, planned.currency));
}

std::string remedy_of(const Attempt& attempt) {
    const double off = attempt.measured_step.value / attempt.predicted.step.value - 1;
    if (attempt.measured_step.value <= 0 || std::abs(off) <= kFarOff) return "";
    return "measure the devices again: `ringmaster-worker --profile now`; the steps of later plans "
           "follow what runs take";
}

}  // namespace

Findings explain_plan(const Attempt& attempt, WallTime now) {
    if (attempt.predicted.step.value <= 0) return {};
    return {info(format("plan of attempt {}", attempt.epoch),
                 step_text(attempt) + cost_text(attempt, now), remedy_of(attempt))};
}

}  // namespace rm
