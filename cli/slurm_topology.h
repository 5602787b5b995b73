#pragma once

#include <string>

#include "topology/links.h"

namespace rm {

// Slurm's topology.conf (tree plugin; slurm.schedmd.com/topology.conf.html) of what the trunks
// show: nodes that are in the same trunks are below one leaf switch, a top switch joins those.
// Slurm knows no speeds, so only who shares what is left of the measurements.
std::string slurm_topology(const LinkGraph& graph);

}  // namespace rm
