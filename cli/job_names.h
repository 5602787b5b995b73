#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ringmaster/v1/job.pb.h"
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

}  // namespace rm
