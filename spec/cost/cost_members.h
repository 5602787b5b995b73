#pragma once

#include "spec/cost/cost.h"
#include "spec/member.h"

namespace rm {

// See spec/member.h. The names state the units.
template <typename Visit>
void describe(Visit& visit, Like<Price> auto& price) {
    auto& [per_device_hour, currency, provider, commitment, date] = price;
    visit_named(visit, {"per_device_hour", "currency", "provider", "commitment", "date"},
                per_device_hour, currency, provider, commitment, date);
}

template <typename Visit>
void describe(Visit& visit, Like<PowerFigures> auto& power) {
    auto& [device_watts, host_watts, pue, grams_per_kwh] = power;
    visit_named(visit, {"device_watts", "host_watts", "pue", "grams_co2_per_kwh"}, device_watts,
                host_watts, pue, grams_per_kwh);
}

template <typename Visit>
void describe(Visit& visit, Like<Rates> auto& rates) {
    auto& [price, power] = rates;
    visit_named(visit, {"price", "power"}, price, power);
}

template <typename Visit>
void describe(Visit& visit, Like<RunCost> auto& cost) {
    auto& [time, money, currency, kwh, kg_co2] = cost;
    visit_named(visit, {"seconds", "money", "currency", "kwh", "kg_co2"}, time, money, currency,
                kwh, kg_co2);
}

}  // namespace rm
