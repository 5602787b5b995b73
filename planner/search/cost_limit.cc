#include "planner/search/cost_limit.h"

#include "planner/search/extremes.h"

namespace rm {
namespace {

Reason cannot_check(const CostQuestion& question, std::string why, std::string remedy) {
    return {
        format("max_cost_usd {} cannot be checked: {}", question.spec.resources.max_cost_usd, why),
        std::move(remedy), ReasonKind::cost};
}

std::optional<Reason> unknown(const CostQuestion& question, Seconds all) {
    const Price& price = question.rates.price;
    if (price.per_device_hour <= 0) {
        return cannot_check(question, format("no price of {} is known", question.kind),
                            question.price_remedy);
    }
    if (price.currency != kDollars) {
        return cannot_check(question,
                            format("the price of {} is in {}", question.kind, price.currency),
                            "give it in USD");
    }
    if (all.value > 0) return std::nullopt;
    return cannot_check(question, format("no dry run says how long it takes on {}", question.kind),
                        question.time_remedy);
}

}  // namespace

std::optional<Reason> over_cost_limit(const CostQuestion& question, const std::string& name,
                                      int devices, Seconds all) {
    const double limit = question.spec.resources.max_cost_usd;
    if (limit <= 0) return std::nullopt;
    if (question.spent_usd >= limit) {
        return Reason{format("its attempts have cost {}, as much as max_cost_usd {}",
                             money_text(question.spent_usd, kDollars), limit),
                      "submit it with a higher one, or `ringmaster cancel` it", ReasonKind::cost};
    }
    if (auto reason = unknown(question, all)) return reason;
    const RunCost cost = cost_of(question.rates, devices, all);
    if (cost.money <= limit) return std::nullopt;
    return Reason{format("the fastest plan, {} on {} {}, costs {}, more than max_cost_usd {}", name,
                         devices, question.kind, money_text(cost.money, cost.currency), limit),
                  "", ReasonKind::cost};
}

std::string cheapest_text(const CostQuestion& question, const SearchQuestion& search,
                          double fastest) {
    const std::optional<RankedPlan> plan = cheapest_plan(search);
    if (!plan) return "";
    const int devices = plan->sharding.mesh.num_ranks();
    const RunCost cost = cost_of(question.rates, devices, plan->time(search.spec));
    if (cost.money >= fastest) return "no other number of devices costs less";
    const bool is_over = cost.money > question.spec.resources.max_cost_usd;
    return format("the cheapest plan, {} on {} {}, costs {}{} and takes {}",
                  to_string(plan->sharding), devices, question.kind,
                  money_text(cost.money, cost.currency), is_over ? ", still more," : "", cost.time);
}

}  // namespace rm
