#include "controller/ops/jobs/plan_job.h"

#include <algorithm>
#include <stdexcept>

#include "controller/ops/checks.h"
#include "controller/ops/ops.h"
#include "service/convert/convert.h"
#include "service/log.h"
#include "spec/machine/device_kind.h"

namespace rm {
namespace {

enum class Advise { no, yes };

Result<PlanDecision> plan_alone(OpsContext& context, PlanningSnapshot snapshot, Advise advise) {
    snapshot.advise = advise == Advise::yes;
    try {
        add_links(snapshot, context.links);
        return std::move(context.planner(snapshot).at(0));
    } catch (const std::exception& failure) {
        return make_error(ErrorCode::internal, "the planner failed: {}", failure.what());
    }
}

PlanningSnapshot snapshot_for(OpsContext& context, const JobSpec& spec) {
    const WallTime now = context.now().steady;
    return context.control.read(
        [&](const State& state) { return idle_snapshot(state, spec, now); });
}

// Whether a dry run can say how long anything takes.
bool has_speeds(const PlanningSnapshot& snapshot) {
    return std::any_of(snapshot.devices.begin(), snapshot.devices.end(),
                       [](const PlanningDevice& device) {
                           return device.profile >= 0 || is_gpu_product(device.kind);
                       });
}

// That no plan fits, or that the fastest costs more than the job may.
const Reason* refusal(const PlanDecision& decision) {
    const auto* reasons = std::get_if<Reasons>(&decision.decision);
    if (reasons == nullptr) return nullptr;
    const auto found = std::find_if(reasons->begin(), reasons->end(), [](const Reason& reason) {
        return reason.kind == ReasonKind::memory || reason.kind == ReasonKind::cost;
    });
    return found == reasons->end() ? nullptr : &*found;
}

// Whether Submit refuses a job that has no plan. Without speeds that is known of its cost only.
bool must_fit(const PlanningSnapshot& snapshot, const JobSpec& spec) {
    return has_speeds(snapshot) || spec.resources.max_cost_usd > 0;
}

std::string kind_of(const PlanningSnapshot& snapshot, const DeviceId& id) {
    const auto found = std::find_if(snapshot.devices.begin(), snapshot.devices.end(),
                                    [&](const PlanningDevice& device) { return device.id == id; });
    return found == snapshot.devices.end() ? "" : found->kind;
}

// With the changes that would fit, where no plan does and they are found in time.
Result<PlanDecision> advised_plan(OpsContext& context, const PlanningSnapshot& snapshot) {
    RM_TRY(PlanDecision decision, plan_alone(context, snapshot, Advise::no));
    if (refusal(decision) == nullptr) return decision;
    auto advised = plan_alone(context, snapshot, Advise::yes);
    return advised ? *std::move(advised) : std::move(decision);
}

}  // namespace

Status check_some_plan_fits(OpsContext& context, const JobSpec& spec) {
    const PlanningSnapshot snapshot = snapshot_for(context, spec);
    if (!must_fit(snapshot, spec)) return {};
    const auto decision = advised_plan(context, snapshot);
    if (!decision) {
        log_event(LogLevel::warning, "submission_not_planned",
                  {{"job", spec.name}, {"reason", decision.error().message}});
        return {};
    }
    const Reason* against = refusal(*decision);
    return against == nullptr ? Status() : invalid_argument("{}", to_string(*against));
}

Result<pb::PlanReply> plan_job(OpsContext& context, const pb::PlanRequest& request) {
    RM_RETURN_IF_ERROR(check_message(request));
    RM_TRY(const JobSpec spec, from_proto(request.spec()));
    RM_RETURN_IF_ERROR(validate(spec));
    const PlanningSnapshot snapshot = snapshot_for(context, spec);
    RM_TRY(const PlanDecision decision, advised_plan(context, snapshot));
    pb::PlanReply reply;
    if (const Plan* plan = std::get_if<Plan>(&decision.decision)) {
        *reply.mutable_plan() = to_proto(*plan);
        if (plan->rates != Rates{}) *reply.mutable_cost() = to_proto(cost_of(*plan));
        reply.set_kind(kind_of(snapshot, plan->placement.front()));
        return reply;
    }
    for (const Reason& reason : std::get<Reasons>(decision.decision))
        reply.add_reasons(to_string(reason));
    const Reason* against = refusal(decision);
    if (against != nullptr && must_fit(snapshot, spec)) reply.set_refusal(to_string(*against));
    return reply;
}

}  // namespace rm
