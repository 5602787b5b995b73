#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace rm {

inline constexpr const char* kDollars = "USD";
constexpr double kJoulesPerKwh = 3.6e6;

// The rent of a device, from a list that has a date.
struct Price {
    double per_device_hour = 0;  // 0: not known
    std::string currency;        // USD
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
// By kind of device ("L40S"), by shape of machines ("l40s-48gb.10x") or by a shape's family
// ("l40s-48gb"); always those of one device.
using PriceList = std::map<std::string, Rates>;
// The shape's own rates, or else its family's, or else the kind's. None: all 0.
Rates rates_of(const PriceList& prices, const std::string& kind, const std::string& shape = "");
std::string family_of(const std::string& shape);  // up to the dot

// The cost of devices that are held for a time; 0 where a figure is not known.
struct RunCost {
    Seconds time;
    double money = 0;
    std::string currency;
    double kwh = 0;  // at the building's meter
    double kg_co2 = 0;
    bool operator==(const RunCost&) const = default;
};
// `joules`: what the devices' own meters counted, in place of device_watts; 0: they counted
// nothing.
RunCost cost_of(const Rates& rates, int devices, Seconds time, double joules = 0);
// The sum of two costs of one run. Money in another currency than `to`'s is left out.
void add_cost(RunCost& to, const RunCost& cost);

// "12.34 USD"; small amounts have four digits. Empty: no price is known.
std::string money_text(double money, const std::string& currency);
// "12.34 USD, 0.9 kWh, 0.3 kg of CO2"; empty: nothing is known.
std::string to_string(const RunCost& cost);

// Errors name the figure that is negative, or a pue below 1.
Status check_rates(const Rates& rates);

}  // namespace rm
