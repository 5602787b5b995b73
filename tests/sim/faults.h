#pragma once

#include <string>
#include <vector>

namespace rm::sim {

class Cluster;

std::vector<std::string> fault_names();
// From now on each fault of the cluster's scenario happens again and again, at random times.
void start_faults(Cluster& cluster);

}  // namespace rm::sim
