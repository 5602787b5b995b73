#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "service/convert.h"

namespace rm {

class Client;

// The job that a name means among those that have it, newest first: the live one, otherwise the
// newest. INVALID_ARGUMENT lists the candidates when several are live.
Result<std::string> choose_job(const std::string& name, const std::vector<pb::Job>& named);

// Translates user input into an id: a job's name, an id, or a prefix of one, which the controller
// resolves. Returns `text` itself when no job has that name.
Result<std::string> find_job(Client& client, const std::string& text);
Result<std::vector<std::string>> find_jobs(Client& client, const std::vector<std::string>& texts);

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
