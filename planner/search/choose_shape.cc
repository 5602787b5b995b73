#include "planner/search/choose_shape.h"

#include <utility>

#include "planner/placement/graph_devices.h"
#include "planner/search/cost_limit.h"
#include "planner/search/extremes.h"
#include "planner/search/shape_search.h"
#include "planner/search/shortage.h"

namespace rm {
namespace {

// Ranks lie where the links were measured; nothing where they were not.
std::vector<DeviceId> placement_of(const RankedPlan& plan, const ShapeSearch& search) {
    if (search.places.empty()) return {};
    const GraphDevices known(search.fleet.links);
    std::vector<DeviceId> placement;
    for (const Endpoint& at : plan.placement)
        placement.push_back(known.id(at));
    return placement;
}

// The job's own limits: those of the devices are the planner's.
PlanShape shape_of(const RankedPlan& plan, const ShapeQuestion& question,
                   const ShapeSearch& search) {
    const MemoryPolicy asked = resolve_memory(question.spec.memory);
    const Prediction& step = plan.prediction;
    PlanShape shape{plan.sharding.mesh,
                    plan.sharding.zero,
                    plan.memory,
                    {step.step, plan.time(question.spec), step.device_total(), step.host_total(),
                     search.correction}};
    shape.placement = placement_of(plan, search);
    shape.memory.device = asked.device;
    shape.memory.host = asked.host;
    return shape;
}

std::string advice_on(const SearchQuestion& question) {
    const auto remedies = remedies_for(question, nullptr);
    return remedies ? advice_text(*remedies) : std::string();
}

// `asked` is null where nothing is searched.
ShapeDecision within_cost(const ShapeQuestion& question, PlanShape shape,
                          const ShapeSearch* asked) {
    const std::string& kind = question.free.front()->kind;
    const Rates rates = rates_of(question.snapshot.prices, kind);
    CostQuestion cost{question.spec, kind, rates, question.spent_usd};
    if (question.snapshot.by_rule)
        cost.time_remedy = "the search took too long: name the mesh, or submit the job again";
    const int ranks = shape.mesh.num_ranks();
    auto reason = over_cost_limit(cost, to_string(Sharding{shape.mesh, shape.zero}), ranks,
                                  shape.predicted.all);
    if (!reason) return shape;
    if (reason->remedy.empty() && asked != nullptr && question.snapshot.advise) {
        SearchQuestion any_mesh = asked->question();
        any_mesh.meshes.clear();
        reason->remedy =
            cheapest_text(cost, any_mesh, cost_of(rates, ranks, shape.predicted.all).money);
    }
    return Reasons{*std::move(reason)};
}

ShapeDecision rule_within_cost(const ShapeQuestion& question) {
    ShapeDecision decision = shape_by_rule(question);
    PlanShape* shape = std::get_if<PlanShape>(&decision);
    return shape == nullptr ? decision : within_cost(question, std::move(*shape), nullptr);
}

ShapeDecision search(const ShapeQuestion& question, const ShapeSearch& asked) {
    const auto result = search_plans(asked.question(), {.ranked = 1});
    if (!result) return Reasons{reason_from(result.error().message, ReasonKind::memory)};
    if (!result->ranked.empty())
        return within_cost(question, shape_of(result->ranked.front(), question, asked), &asked);
    return Reasons{{shortage_text(*result),
                    question.snapshot.advise ? advice_on(asked.question()) : std::string(),
                    ReasonKind::memory}};
}

}  // namespace

ShapeDecision choose_shape(const ShapeQuestion& question) {
    if (question.snapshot.by_rule) return rule_within_cost(question);
    const auto asked = shape_search(question);
    return asked ? search(question, *asked) : rule_within_cost(question);
}

}  // namespace rm
