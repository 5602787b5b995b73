#pragma once

#include <string>

#include "topology/links.h"

namespace rm {

// Slurm's topology.conf (tree plugin; slurm.schedmd.com/topology.conf.html) derived from the
// trunks: nodes in the same trunks are below one leaf switch, and a top switch joins these. Slurm
// knows no speeds, so only the sharing remains of the measurements.
std::string slurm_topology(const LinkGraph& graph);

}  // namespace rm
