#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/convert.h"

// Calls that several verbs make. Lists are read to their last page.
namespace rm {

enum class CancelMode { checkpoint_first, now };

struct Fleet {
    std::vector<pb::Node> nodes;
    std::int64_t telemetry_dropped = 0;  // pieces, since the controller started
};

// The id of the new job; passes the controller's warnings to the client's `note`.
Result<std::string> submit_job(const Client& client, const pb::JobSpec& spec);
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

}  // namespace rm
