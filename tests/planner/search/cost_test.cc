#include "planner/search/cost.h"

#include <gtest/gtest.h>

namespace rm::test {
namespace {

TEST(Cost, IsThatOfHeldDevices) {
    const Rates rates{
        .price = {.per_device_hour = 1.5},
        .power = {.device_watts = 300, .host_watts = 100, .pue = 1.25, .grams_per_kwh = 400}};
    const RunCost cost = cost_of(rates, 8, Seconds{1800});
    EXPECT_DOUBLE_EQ(cost.money, 6);
    EXPECT_DOUBLE_EQ(cost.kwh, 2);
    EXPECT_DOUBLE_EQ(cost.kg_co2, 0.8);
}

TEST(Cost, OfFiguresThatAreNotKnownIsNothing) {
    const RunCost cost =
        cost_of({.power = {.host_watts = 100, .grams_per_kwh = 400}}, 8, Seconds{3600});
    EXPECT_EQ(cost.money, 0);
    EXPECT_EQ(cost.kwh, 0);
    EXPECT_EQ(cost.kg_co2, 0);
}

}  // namespace
}  // namespace rm::test
