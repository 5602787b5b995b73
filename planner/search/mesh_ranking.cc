#include <algorithm>
#include <utility>

#include "planner/search/plan_detail.h"
#include "planner/search/shape_search.h"
#include "planner/search/shortage.h"

namespace rm {
namespace {

constexpr int kRanked = 6;
constexpr std::size_t kMostPassed = 6;  // shown

bool is_of(const RankedMesh& row, const Plan& plan) {
    return row.mesh == plan.mesh && row.zero == plan.zero;
}

// The plan's own row, with what was predicted when it was made.
RankedMesh recorded_row(const Plan& plan) {
    return {.mesh = plan.mesh,
            .zero = plan.zero,
            .chosen = true,
            .predicted = plan.predicted,
            .memory = plan.memory,
            .cost = cost_of(plan),
            .passed_over = {}};
}

RankedMesh row_of(const RankedPlan& plan, const JobSpec& spec, double correction,
                  const Rates& rates) {
    const Prediction& step = plan.prediction;
    const Seconds all = plan.time(spec);
    return {.mesh = plan.sharding.mesh,
            .zero = plan.sharding.zero,
            .predicted = {step.step, all, step.device_total(), step.host_total(), correction},
            .memory = plan.memory,
            .causal_mfu = step.causal_mfu,
            .fp8_mfu = step.fp8_mfu,
            .cost = cost_of(rates, plan.sharding.mesh.num_ranks(), all),
            .passed_over = {}};
}

RankedMesh row_of(const PassedOver& passed, const MemorySpec& limits) {
    return {.mesh = passed.sharding.mesh,
            .zero = passed.sharding.zero,
            .predicted = {},
            .memory = {},
            .cost = {},
            .passed_over = why_text(passed, limits)};
}

// Marks the plan's row among those that are ranked, or adds it in its place.
void mark_chosen(std::vector<RankedMesh>& ranked, const Plan& plan) {
    const auto own = std::find_if(ranked.begin(), ranked.end(),
                                  [&](const RankedMesh& row) { return is_of(row, plan); });
    if (own != ranked.end()) {
        own->chosen = true;
        return;
    }
    const Seconds step = plan.predicted.step;
    const auto slower = std::find_if(ranked.begin(), ranked.end(), [&](const RankedMesh& row) {
        return step.value > 0 && row.predicted.step > step;
    });
    ranked.insert(slower, recorded_row(plan));
}

void add_passed(std::vector<RankedMesh>& rows, const SearchResult& result, const Plan& plan) {
    std::size_t shown = 0;
    for (const PassedOver& passed : result.passed) {
        RankedMesh row = row_of(passed, result.limits);
        if (is_of(row, plan)) continue;
        if (++shown > kMostPassed) break;
        rows.push_back(std::move(row));
    }
}

Result<SearchResult> searched(const ShapeQuestion& question, double& correction) {
    RM_TRY(const ShapeSearch search, shape_search(question));
    correction = search.correction;
    return search_plans(search.question(), {.ranked = kRanked});
}

}  // namespace

MeshRanking own_mesh(const Plan& recorded, Reasons reasons) {
    MeshRanking ranking;
    ranking.meshes = {recorded_row(recorded)};
    ranking.reasons = std::move(reasons);
    return ranking;
}

MeshRanking rank_meshes(const ShapeQuestion& question, const Plan& recorded) {
    double correction = 0;
    const auto result = searched(question, correction);
    if (!result) return own_mesh(recorded, {reason_from(result.error().message)});
    MeshRanking ranking;
    ranking.kind = question.free.front()->kind;
    ranking.devices = question.mesh.num_ranks();
    ranking.considered = static_cast<int>(result->shardings);
    if (result->ranked.empty()) ranking.reasons = {{shortage_text(*result)}};
    const Rates rates = rates_of(question.snapshot.prices, ranking.kind);
    for (const RankedPlan& plan : result->ranked)
        ranking.meshes.push_back(row_of(plan, question.spec, correction, rates));
    mark_chosen(ranking.meshes, recorded);
    add_passed(ranking.meshes, *result, recorded);
    return ranking;
}

}  // namespace rm
