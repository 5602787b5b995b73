#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace rm {

// The rent of a device, from a list that has a date.
struct Price {
    double per_device_hour = 0;  // 0: not known
    std::string currency = "USD";
    std::string provider;
    std::string commitment;  // "on demand", "reserved 1 year"
    std::string date;        // 2026-11-01
    bool operator==(const Price&) const = default;
};

// The power of a device, and what it stands for.
struct PowerFigures {
    double device_watts = 0;   // while it trains; 0: not known
    double host_watts = 0;     // the device's share of its machine
    double pue = 1;            // of the building: all its power over that of the machines
    double grams_per_kwh = 0;  // CO2 of the grid; 0: not known
    bool operator==(const PowerFigures&) const = default;
};

struct Rates {
    Price price;
    PowerFigures power;
    bool operator==(const Rates&) const = default;
};

// The cost of `devices` devices that are held for `time`; 0 where a figure is not known.
struct RunCost {
    Seconds time;
    double money = 0;
    double kwh = 0;  // at the building's meter
    double kg_co2 = 0;
};
RunCost cost_of(const Rates& rates, int devices, Seconds time);

// Errors name the figure that is negative, or a pue below 1.
Status check_rates(const Rates& rates);

}  // namespace rm
