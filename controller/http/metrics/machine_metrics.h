#pragma once

#include <string>

#include "controller/discovery/reconcile.h"

namespace rm {

// Metrics of the provider's machines; nothing without a provider.
std::string machine_metrics(const MachinesView& view);

}  // namespace rm
