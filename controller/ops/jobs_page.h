#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/ops/context.h"
#include "ringmaster/v1/job.pb.h"

namespace rm {

namespace pb = ringmaster::v1;

struct JobsPage {
    std::vector<pb::Job> jobs;  // newest first, with their last reports
    std::string next_token;     // empty: this was the last page
};

enum class Which { live, all };

// The page of jobs that pass `wanted`, among those that have not ended or among all.
Result<JobsPage> read_jobs_page(OpsContext& context, int size, const std::string& token,
                                Which which, const std::function<bool(const Job&)>& wanted);

}  // namespace rm
