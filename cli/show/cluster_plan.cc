#include "cli/show/cluster_plan.h"

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

}  // namespace rm
