#pragma once

#include <string>

#include "controller/discovery/crusoe_api.h"
#include "spec/cost/cost.h"

namespace rm {

// The rent of one machine for an hour; `per_hour` 0: not known.
struct MachinePrice {
    double per_hour = 0;
    std::string currency;
    std::string basis;  // "1.45 USD per device and hour, on demand, 2026-11-01"
};

// From the price list's entry for the shape itself ("l40s-48gb.10x"), its family ("l40s-48gb") or
// its kind of device ("L40S", in any case), times its devices.
MachinePrice price_of(const Shape& shape, const PriceList& prices);

}  // namespace rm
