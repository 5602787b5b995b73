#pragma once

#include <string>
#include <string_view>

#include "topology/links.h"

// Measured links as a file (docs/formats/links.md).
namespace rm {

// Errors name the place in the file: line and column of a syntax error, otherwise the key's path.
Result<LinkGraph> parse_links(std::string_view text);
Result<LinkGraph> read_links(const std::string& path);

// parse_links() reads the text back as the same graph, but for the names of interiors. Writes the
// links of the network as matrices, unless all are alike.
std::string links_text(const LinkGraph& graph);

// Slurm's topology.conf (tree plugin; slurm.schedmd.com/topology.conf.html) derived from the
// trunks: nodes in the same trunks are below one leaf switch, and a top switch joins these. Slurm
// knows no speeds, so only the sharing remains of the measurements.
std::string slurm_topology(const LinkGraph& graph);

}  // namespace rm
