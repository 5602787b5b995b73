#pragma once

#include <string>
#include <vector>

namespace rm::sim {

class Cluster;

std::vector<std::string> fault_names();
// From now on each fault of the cluster's scenario recurs at random times.
void start_faults(Cluster& cluster);

}  // namespace rm::sim
