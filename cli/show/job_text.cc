#include "cli/show/job_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/show/text.h"

namespace rm {
namespace {

constexpr std::array kJobStates = {
    pb::JOB_STATE_PENDING,   pb::JOB_STATE_STARTING, pb::JOB_STATE_RUNNING,  pb::JOB_STATE_STOPPING,
    pb::JOB_STATE_SUCCEEDED, pb::JOB_STATE_FAILED,   pb::JOB_STATE_CANCELLED};

std::int64_t total_tokens(const pb::JobSpec& spec) {
    std::int64_t tokens = 0;
    for (const pb::StageSpec& stage : spec.stages())
        tokens += stage_steps(stage) * stage.batch();
    return tokens;
}

}  // namespace

std::string state_name(pb::JobState state) {
    return lower_without("JOB_STATE_", pb::JobState_Name(state));
}

std::string attempt_state_name(pb::AttemptState state) {
    return lower_without("ATTEMPT_STATE_", pb::AttemptState_Name(state));
}

std::string ended_as(const pb::Attempt& attempt) {
    const std::string state = attempt_state_name(attempt.state());
    const std::string& failure = attempt.failure_class();
    return failure.empty() || failure == state ? state : format("{} ({})", state, failure);
}

Color state_color(pb::JobState state) {
    if (state == pb::JOB_STATE_FAILED) return Color::red;
    if (state == pb::JOB_STATE_RUNNING || state == pb::JOB_STATE_SUCCEEDED) return Color::green;
    return Color::yellow;
}

bool has_ended(const pb::Job& job) {
    return job.state() == pb::JOB_STATE_SUCCEEDED || job.state() == pb::JOB_STATE_FAILED ||
           job.state() == pb::JOB_STATE_CANCELLED;
}

Result<pb::JobState> parse_job_state(const std::string& name) {
    for (const pb::JobState state : kJobStates) {
        if (state_name(state) == name) return state;
    }
    return invalid_argument("'{}' is not the state of a job; one of {}", name,
                            join(kJobStates, ", ", state_name));
}

std::string mesh_text(const pb::MeshSpec& mesh, int zero) {
    const auto made = from_proto(mesh);
    if (!made) return "";
    return to_string(*made) + (zero > 0 ? format(", ZeRO-{}", zero) : "");
}

std::string mesh_text(const pb::Attempt& attempt) {
    return mesh_text(attempt.mesh(), attempt.zero());
}

std::string time_text(const google::protobuf::Timestamp& time) {
    return to_iso8601(from_proto(time));
}

std::string started_text(const pb::Attempt& attempt) {
    return attempt.has_started() ? time_text(attempt.started()) : "";
}

std::string took_text(const pb::Attempt& attempt, WallTime now) {
    if (!attempt.has_started()) return "";
    const WallTime end = attempt.has_ended() ? from_proto(attempt.ended()) : now;
    return span_text(end - from_proto(attempt.started()));
}

std::string cost_text(const pb::Job& job) {
    return money_text(job.cost().money(), job.cost().currency());
}

std::string planned_step_text(const pb::Attempt& attempt) {
    const double planned = attempt.predicted().step_seconds();
    return planned > 0 ? to_string(Seconds{planned}) : "";
}

std::string measured_step_text(const pb::Attempt& attempt) {
    const double measured = attempt.measured_step_seconds();
    const double planned = attempt.predicted().step_seconds();
    if (measured <= 0) return "";
    if (planned <= 0) return to_string(Seconds{measured});
    const double off = measured / planned - 1;
    return format("{} ({}{})", Seconds{measured}, off < 0 ? "" : "+", percent_text(off));
}

std::string attempt_cost_text(const pb::Attempt& attempt) {
    return money_text(attempt.cost().money(), attempt.cost().currency());
}

std::string model_name(const pb::ModelSpec& model) {
    return model.from().empty() ? model.preset() : model.from();
}

const pb::Attempt* newest_attempt(const pb::Job& job) {
    return job.attempts().empty() ? nullptr : &*job.attempts().rbegin();
}

const pb::StageSpec* current_stage(const pb::Job& job) {
    const int count = job.spec().stages_size();
    if (count == 0) return nullptr;
    const pb::Attempt* attempt = newest_attempt(job);
    const int done = attempt != nullptr ? attempt->stages_done() : 0;
    const int stage = std::max(done, job.last_step().stage());
    return &job.spec().stages(std::clamp(stage, 0, count - 1));
}

int num_devices(const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    return attempt == nullptr ? 0 : attempt->placement_size();
}

std::int64_t stage_steps(const pb::StageSpec& stage) {
    const std::int64_t batch = std::max<std::int64_t>(1, stage.batch());
    return std::max<std::int64_t>(1, (stage.tokens() + batch / 2) / batch);
}

double tokens_per_second(const pb::StepReport& step) {
    return step.seconds() > 0 ? static_cast<double>(step.tokens()) / step.seconds() : 0;
}

std::int64_t memory_total(const pb::StepReport& step) {
    std::int64_t total = 0;
    for (const auto& [kind, bytes] : step.memory_bytes())
        total += bytes;
    return total;
}

std::optional<Seconds> time_left(const pb::Job& job) {
    const double speed = tokens_per_second(job.last_step());
    if (!is_computing(job) || speed <= 0) return std::nullopt;
    const std::int64_t left = total_tokens(job.spec()) - job.last_step().tokens_total();
    return Seconds{static_cast<double>(std::max<std::int64_t>(0, left)) / speed};
}

Seconds age_of(const pb::Job& job, WallTime now) {
    return now - from_proto(job.submitted());
}

std::optional<Seconds> duration_of(const pb::Job& job) {
    if (!job.has_ended()) return std::nullopt;
    return from_proto(job.ended()) - from_proto(job.submitted());
}

bool is_computing(const pb::Job& job) {
    return job.state() == pb::JOB_STATE_RUNNING || job.state() == pb::JOB_STATE_STOPPING;
}

std::string state_line(const pb::Job& job) {
    std::string line =
        format("job {} ({}) is {}", job.id(), job.spec().name(), state_name(job.state()));
    if (has_ended(job)) {
        line = format("job {} ({}) {}", job.id(), job.spec().name(), state_name(job.state()));
        return job.failure().empty() ? line : line + ": " + job.failure();
    }
    if (job.state() == pb::JOB_STATE_PENDING) {
        for (const std::string& reason : job.blocking_reasons())
            line += "\n  pending: " + reason;
        return line;
    }
    const pb::Attempt* attempt = newest_attempt(job);
    if (attempt == nullptr) return line;
    return line + format(": attempt {} on {} ({})", attempt->epoch(),
                         counted(attempt->placement_size(), "device"), mesh_text(*attempt));
}

}  // namespace rm
