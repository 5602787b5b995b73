#pragma once

#include <string>

#include "engine/dry_run/predict.h"

namespace rm {

// Lines for people: memory, and with a profile times and rates. `profile` as it was predicted with.
std::string describe(const Prediction& prediction, const DeviceProfile* profile);

}  // namespace rm
