#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ringmaster/v1/node.pb.h"
#include "service/convert.h"

namespace rm {

class Client;

// node 99ff89da-... (rack1)
std::string node_line(const pb::Node& node);

// The id of the node that a user named: by its name, or by an id or prefix, which the controller
// resolves. INVALID_ARGUMENT lists the ids when several nodes have the name.
Result<std::string> choose_node(const std::string& text, const std::vector<pb::Node>& nodes);
// The `nodes` that the texts name, by name, id or prefix; NOT_FOUND quotes a text without a node.
Result<std::vector<pb::Node>> pick_nodes(const std::vector<std::string>& texts,
                                         const std::vector<pb::Node>& nodes);
Result<std::vector<std::string>> find_nodes(Client& client, const std::vector<std::string>& texts);

}  // namespace rm
