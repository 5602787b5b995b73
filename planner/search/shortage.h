#pragma once

#include <string>

#include "planner/search/extremes.h"

// Why a plan is not made, for people.
namespace rm {

// "does not fit: takes at least 52.1 GiB of the device, 7.4 GiB more than 44.7 GiB"
std::string why_text(const PassedOver& passed, const MemorySpec& limits);

// The nearest sharding of a result without a plan, and why it is none.
std::string shortage_text(const SearchResult& result);

// "it fits with 16 devices (ring 16, ZeRO 3, 30.1 GiB of the device and 0 B of the host)"; empty:
// there are none.
std::string advice_text(const std::vector<Remedy>& remedies);

}  // namespace rm
