#include "spec/cost/cost.h"

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

TEST(Cost, TakesTheDevicesOwnMetersInPlaceOfTheirPower) {
    const Rates rates{.power = {.device_watts = 300, .host_watts = 100, .pue = 2}};
    EXPECT_DOUBLE_EQ(cost_of(rates, 4, Seconds{3600}).kwh, 2 * 1.6);
    EXPECT_DOUBLE_EQ(cost_of(rates, 4, Seconds{3600}, 3.6e6).kwh, 2 * 1.4);
}

TEST(Cost, AddsUpOverAttemptsInOneCurrency) {
    RunCost sum;
    add_cost(sum, {.time = {10}, .money = 2, .currency = "USD", .kwh = 1, .kg_co2 = 0.5});
    add_cost(sum, {.time = {20}, .money = 3, .currency = "USD", .kwh = 2, .kg_co2 = 0.5});
    add_cost(sum, {.time = {5}, .money = 100, .currency = "EUR", .kwh = 4, .kg_co2 = 0});
    EXPECT_EQ(sum, (RunCost{.time = {35}, .money = 5, .currency = "USD", .kwh = 7, .kg_co2 = 1}));
    EXPECT_EQ(to_string(sum), "5.00 USD, 7.00 kWh, 1.00 kg of CO2");
    EXPECT_EQ(money_text(0.01234, "EUR"), "0.0123 EUR");
    EXPECT_EQ(to_string(RunCost{}), "");
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
