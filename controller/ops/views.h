#pragma once

#include <functional>
#include <string>

#include "controller/core/state.h"
#include "controller/ops/context.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"

// Converts rows to messages.
namespace rm {

namespace pb = ringmaster::v1;

pb::JobState to_message(JobState state);
pb::Job to_message(const State& state, const Job& job, const Now& now);
pb::Node to_message(const State& state, const Node& node, const std::map<DeviceId, Holder>& holders,
                    WallTime now);

// Adds last_step and last_evaluation, from telemetry.
Status add_reports(OpsContext& context, pb::Job& job);
// Adds the newest report of each suite, from telemetry.
Status add_suites(OpsContext& context, pb::Job& job);
// Adds the connections that the ranks of its attempts reported, from telemetry.
Status add_connections(OpsContext& context, pb::Job& job);
// Adds its last few alarms.
Status add_alarms(OpsContext& context, pb::Job& job);
pb::StepReport step_message(const KeptReport& kept);
pb::EvaluationReport evaluation_message(const KeptReport& kept);
pb::SuiteReport suite_message(const KeptReport& kept);

// The current job with its reports. Fails if the id is unknown (NOT_FOUND) or ambiguous.
Result<pb::Job> view_job(OpsContext& context, const std::string& id);

// Lists omit the text of the job file, which may be 1 MiB; `Get` returns it.
pb::Job without_text(pb::Job job);
// A page ends with the entry that reaches this size, so that a reply stays below the limit of
// clients.
constexpr std::size_t kMaxPageBytes = 1 << 20;

// Pages: `page_size` 0 is 100, at most 1000; a token is the number the last page ended with.
int page_size(int requested);
Result<std::int64_t> parse_page_token(const std::string& token, std::int64_t first);

enum class Which { live, all };

// The jobs that have not ended, by number.
JobIndex::Map live_jobs(const State& state);

// The page of jobs that pass `wanted`, among those that have not ended or among all: newest first,
// with their last reports.
Result<pb::ListJobsReply> read_jobs_page(OpsContext& context, int size, const std::string& token,
                                         Which which,
                                         const std::function<bool(const Job&)>& wanted);

}  // namespace rm
