#pragma once

#include <string>
#include <string_view>

#include "topology/links.h"

// Measured links as a file (docs/formats/links.md).
namespace rm {

// Errors name the place in the file: of a syntax error line and column, else the key's path.
Result<LinkGraph> parse_links(std::string_view text);
Result<LinkGraph> read_links(const std::string& path);

// What parse_links() reads back as the same graph, but for the names of interiors. The links of the
// network as matrices, unless all are alike.
std::string links_text(const LinkGraph& graph);

}  // namespace rm
