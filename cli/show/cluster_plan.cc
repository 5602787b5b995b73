#include "cli/show/cluster_plan.h"

#include <optional>

#include "base/text.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

void line(const Output& out, std::string_view name, const std::string& value) {
    print_hanging(out, format("{:<11}", name), 11, printable(value), usize(out.width));
}

std::string memory_text(const pb::Plan& plan) {
    const Result<MemoryPolicy> policy = from_proto(plan.memory());
    return policy ? to_string(*policy) : "of another version";
}

// Nothing for an error that says something about the job, or that Submit would meet, too.
std::optional<std::string> why_not_planned(const Error& error) {
    if (error.code == ErrorCode::unimplemented)
        return "the controller is of an older version, which makes no plans";
    if (error.code == ErrorCode::deadline_exceeded || error.code == ErrorCode::internal)
        return error.message;
    return std::nullopt;
}

void print_no_plan(const Output& out, const std::string& why) {
    print_hanging(out, "no plan yet: ", 2, why, usize(out.width));
}

}  // namespace

void print_cluster_plan(const Output& out, const pb::PlanReply& reply) {
    for (const std::string& reason : reply.reasons())
        line(out, "no plan", reason);
    if (!reply.has_plan()) return;
    const pb::Plan& plan = reply.plan();
    line(out, "mesh",
         format("{}, on {} {}", mesh_text(plan.mesh(), plan.zero()), plan.placement_size(),
                reply.kind()));
    line(out, "memory", memory_text(plan));
    line(out, "network", plan.network());
    const pb::PlanPrediction& predicted = plan.predicted();
    if (predicted.step_seconds() <= 0) {
        line(out, "step", "not known: the speeds of these devices were not measured");
        return;
    }
    line(out, "step", to_string(Seconds{predicted.step_seconds()}));
    if (predicted.correction() > 0) line(out, "corrected", correction_text(predicted.correction()));
    line(out, "all steps", span_text(Seconds{predicted.all_seconds()}));
    line(out, "takes",
         format("{} of each device and {} of its host", Bytes{predicted.device_bytes()},
                Bytes{predicted.host_bytes()}));
    if (!reply.has_cost()) return;
    const pb::Price& price = plan.rates().price();
    line(out, "costs",
         to_string(from_proto(reply.cost())) +
             price_text({.per_device_hour = price.per_device_hour(),
                         .currency = price.currency(),
                         .date = price.date()}));
}

Status print_plan_to_submit(const Output& out, const Result<pb::PlanReply>& plan) {
    if (!plan) {
        const auto why = why_not_planned(plan.error());
        if (!why) return plan.error();
        print_no_plan(out, *why);
    } else if (!plan->refusal().empty()) {
        return invalid_argument("{}", plan->refusal());
    } else if (!plan->has_plan()) {
        print_no_plan(out, join(plan->reasons(), "; "));
    } else {
        print_cluster_plan(out, *plan);
    }
    return {};
}

}  // namespace rm
