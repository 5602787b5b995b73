#include "planner/search/cost_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/search/extremes.h"
#include "tests/planner/search/planned_jobs.h"

namespace rm::test {
namespace {

using testing::HasSubstr;

struct CostLimit : testing::Test {
    JobSpec spec = long_job(1 << 18);
    Rates rates{.price = {.per_device_hour = 2, .currency = "USD"}};
    double spent = 0;

    CostLimit() { spec.resources.max_cost_usd = 10; }
    // Against eight devices for so many hours.
    std::string against(double hours) const {
        const auto reason =
            over_cost_limit({spec, "L40S", rates, spent}, "ring 8", 8, Seconds{3600 * hours});
        if (!reason) return "";
        EXPECT_EQ(reason->kind, ReasonKind::cost);
        return reason->text;
    }
};

TEST_F(CostLimit, ForbidsPlansAboveIt) {
    EXPECT_EQ(against(0.625), "") << "as much as it allows";
    EXPECT_EQ(against(1),
              "the fastest plan, ring 8 on 8 L40S, costs 16.00 USD, more than max_cost_usd 10");
    spec.resources.max_cost_usd = 0;
    EXPECT_EQ(against(1000), "") << "no limit";
}

TEST_F(CostLimit, ForbidsWhatNothingSaysTheCostOf) {
    EXPECT_THAT(against(0), HasSubstr("cannot be checked: no dry run says how long"));
    rates.price.currency = "EUR";
    EXPECT_THAT(against(0.1), HasSubstr("cannot be checked: the price of L40S is in EUR"));
    rates = {};
    EXPECT_THAT(against(0.1), HasSubstr("cannot be checked: no price of L40S is known"));
}

TEST_F(CostLimit, CountsEarlierAttempts) {
    spent = 9.99;
    EXPECT_EQ(against(0.1), "");
    spent = 10;
    EXPECT_EQ(against(0.1), "its attempts have cost 10.00 USD, as much as max_cost_usd 10");
}

// On fewer devices less time is lost to links.
TEST_F(CostLimit, NamesTheCheapestPlan) {
    spec.model.preset = "tiny";
    const FleetSpec fleet = published_fleet("L40S", 8).value();
    const ModelConfig model = planned_model(spec).value();
    const SearchQuestion search{spec, model, fleet, 8};
    const RankedPlan best = cheapest_plan(search).value();
    const int devices = best.sharding.mesh.num_ranks();
    for (int other = 1; other <= 8; other *= 2) {
        SearchQuestion question = search;
        question.devices = other;
        const auto result = search_plans(question, {.ranked = 1});
        ASSERT_TRUE(result.ok());
        EXPECT_GE(other * result->ranked.at(0).time(spec).value, devices * best.time(spec).value);
    }
    const RunCost cost = cost_of(rates, devices, best.time(spec));
    spec.resources.max_cost_usd = 2 * cost.money;
    const std::string text = cheapest_text({spec, "L40S", rates}, search, 3 * cost.money);
    EXPECT_EQ(text,
              format("the cheapest plan, {} on {} L40S, costs {} and takes {}",
                     to_string(best.sharding), devices, money_text(cost.money, "USD"), cost.time));
    spec.resources.max_cost_usd = 0.5 * cost.money;
    EXPECT_THAT(cheapest_text({spec, "L40S", rates}, search, 3 * cost.money),
                HasSubstr(" USD, still more, and takes "));
    EXPECT_EQ(cheapest_text({spec, "L40S", rates}, search, cost.money),
              "no other number of devices costs less");
}

TEST_F(CostLimit, IsKnownOfNoPlanWhereNoneFits) {
    const FleetSpec fleet = published_fleet("L40S", 1).value();
    const ModelConfig model = planned_model(spec).value();
    EXPECT_EQ(cheapest_text({spec, "L40S", rates}, {spec, model, fleet, 1}, 1), "");
}

}  // namespace
}  // namespace rm::test
