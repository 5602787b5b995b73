#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/screen/console.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

// Texts about a job for the tables, the follower and `show`. Pure: messages and the time in, text
// out.
namespace rm {

std::string state_name(pb::JobState state);  // pending, starting, ...
std::string attempt_state_name(pb::AttemptState state);
// failed (out_of_memory); omits a class that says no more than the state.
std::string ended_as(const pb::Attempt& attempt);
Color state_color(pb::JobState state);
bool has_ended(const pb::Job& job);
// INVALID_ARGUMENT lists the names.
Result<pb::JobState> parse_job_state(const std::string& name);

std::string mesh_text(const pb::MeshSpec& mesh, int zero);  // data 2 x ring 4, ZeRO-3
std::string mesh_text(const pb::Attempt& attempt);
std::string time_text(const google::protobuf::Timestamp& time);
std::string started_text(const pb::Attempt& attempt);             // empty before
std::string took_text(const pb::Attempt& attempt, WallTime now);  // until now, if it runs
std::string cost_text(const pb::Job& job);                        // money; empty: not known
std::string attempt_cost_text(const pb::Attempt& attempt);
// A step by the attempt's plan, and as its ranks took it: 1.2 s (+4.2%); empty: not known.
std::string planned_step_text(const pb::Attempt& attempt);
std::string measured_step_text(const pb::Attempt& attempt);
std::string model_name(const pb::ModelSpec& model);      // its preset or its source
const pb::Attempt* newest_attempt(const pb::Job& job);   // null before the first
const pb::StageSpec* current_stage(const pb::Job& job);  // the last one of an ended job
int num_devices(const pb::Job& job);                     // of the newest attempt; 0: none yet
double tokens_per_second(const pb::StepReport& step);    // 0: unknown
std::int64_t stage_steps(const pb::StageSpec& stage);    // its tokens in whole batches
std::int64_t memory_total(const pb::StepReport& step);   // bytes, all kinds

// Time for the remaining tokens at the speed of the last step; nothing before the first step and
// while nothing computes.
std::optional<Seconds> time_left(const pb::Job& job);
// Time since submission, also for a job that has ended.
Seconds age_of(const pb::Job& job, WallTime now);
// From submission to the end; nothing before.
std::optional<Seconds> duration_of(const pb::Job& job);
// Whether an attempt computes now: the numbers of a job that waits again are from an earlier one.
bool is_computing(const pb::Job& job);

// job a1b2c3 demo is running: attempt 3 on 4 devices (ring 4)
std::string state_line(const pb::Job& job);

}  // namespace rm
