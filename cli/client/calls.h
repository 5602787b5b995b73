#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/client.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/convert/convert.h"

// Calls that several verbs make. Lists are read to their last page.
namespace rm {

enum class CancelMode { checkpoint_first, now };

struct Fleet {
    std::vector<pb::Node> nodes;
    std::int64_t telemetry_dropped = 0;  // pieces, since the controller started
    std::vector<pb::Machine> machines;   // of the controller's provider
    std::string provider_problem;
};

// The id of the new job; passes the controller's warnings to the client's `note`.
Result<std::string> submit_job(const Client& client, const pb::JobSpec& spec);
// The plan that the job would get if nothing else ran.
Result<pb::PlanReply> plan_job(const Client& client, const pb::JobSpec& spec);
Result<pb::Job> get_job(const Client& client, const std::string& id);
Result<pb::Job> cancel_job(const Client& client, const std::string& id, CancelMode mode);
Result<std::vector<pb::Job>> live_jobs(const Client& client);
Result<std::vector<pb::Job>> all_jobs(const Client& client);
Result<Fleet> read_fleet(const Client& client);
// All links of one survey: starts over when another survey ends meanwhile.
Result<pb::LinksReply> read_links(const Client& client);
Result<pb::SurveyState> survey_state(const Client& client);

// 128 random bits, which make resending a Submit safe.
std::string random_request_id();

// Chooses among the jobs of one name, given newest first: the live one, otherwise the newest.
// INVALID_ARGUMENT lists the candidates when several are live.
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
// Finds nodes by name, id or prefix; NOT_FOUND quotes a text that matches none.
Result<std::vector<pb::Node>> pick_nodes(const std::vector<std::string>& texts,
                                         const std::vector<pb::Node>& nodes);
Result<std::vector<std::string>> find_nodes(Client& client, const std::vector<std::string>& texts);

}  // namespace rm
