#include "cli/follow.h"

#include <algorithm>

#include "base/report_text.h"
#include "cli/job_text.h"
#include "cli/signals.h"

namespace rm {
namespace {

bool is_final(ErrorCode code) {
    return code == ErrorCode::not_found || code == ErrorCode::invalid_argument ||
           code == ErrorCode::permission_denied || code == ErrorCode::unauthenticated ||
           code == ErrorCode::unimplemented;
}

// A server that goes down ends its streams as CANCELLED or UNAVAILABLE, or without an error.
bool is_absence(const Status& status) {
    return status || status.error().code == ErrorCode::unavailable ||
           status.error().code == ErrorCode::cancelled;
}

}  // namespace

void JobFollower::update(const pb::JobUpdate& update) {
    if (update.has_job()) on_job(update.job());
    if (update.has_step()) on_step(update.step());
    if (update.has_evaluation()) on_evaluation(update.evaluation());
    if (update.update_case() == pb::JobUpdate::kNote) display_.note(update.note());
}

bool JobFollower::ended() const {
    return has_ended(job_);
}

void JobFollower::on_job(const pb::Job& job) {
    pb::Job merged = job;
    // A message of a state change may be older than the step that overtook it.
    if (job_.last_step().step() > job.last_step().step())
        *merged.mutable_last_step() = job_.last_step();
    if (job_.last_evaluation().step() > job.last_evaluation().step()) {
        *merged.mutable_last_evaluation() = job_.last_evaluation();
    }
    job_ = merged;
    if (job.has_last_step()) on_step(job.last_step());
    if (job.has_last_evaluation()) on_evaluation(job.last_evaluation());
    const std::string state = state_line(job_);
    if (state == shown_state_) return;
    shown_state_ = state;
    display_.note(state);
}

void JobFollower::on_step(const pb::StepReport& step) {
    if (step.step() <= shown_step_) return;
    shown_step_ = step.step();
    *job_.mutable_last_step() = step;
    display_.progress(progress_of(step));
}

void JobFollower::on_evaluation(const pb::EvaluationReport& evaluation) {
    if (evaluation.step() <= shown_evaluation_) return;
    shown_evaluation_ = evaluation.step();
    *job_.mutable_last_evaluation() = evaluation;
    display_.note(evaluation_line(from_proto(evaluation)));
}

Progress JobFollower::progress_of(const pb::StepReport& step) {
    const double speed = tokens_per_second(step);
    speed_ = speed_ > 0 ? 0.8 * speed_ + 0.2 * speed : speed;
    Progress progress{
        step_line(from_proto(step), step.peak_name()), step.step(), step.num_steps(), {}};
    if (const auto left = time_left(job_); left && speed_ > 0) {
        progress.left = Seconds{left->value * speed / speed_};
    }
    return progress;
}

Status follow(const Watch& watch, JobFollower& follower, ProgressDisplay& display,
              std::stop_token stop, FollowLimits limits) {
    Seconds pause = limits.first_pause;
    int failures = 0;
    bool away = false;
    while (!follower.ended() && !stop.stop_requested()) {
        const Status status = watch(stop, [&](const pb::JobUpdate& update) {
            if (away) display.note("the controller is back");
            away = false;
            failures = 0;
            pause = limits.first_pause;
            follower.update(update);
        });
        if (follower.ended() || stop.stop_requested()) break;
        if (!status && is_final(status.error().code)) return status;
        if (!is_absence(status) && ++failures >= limits.strange_failures) return status;
        if (!away && !status) {
            display.note(status.error().message + "; the job goes on without it; trying again");
            away = true;
        }
        if (!sleep_for(pause, stop)) break;
        pause = Seconds{std::min(pause.value * 2, limits.longest_pause.value)};
    }
    return {};
}

ExitCode exit_code_of(const pb::Job& ended) {
    return ended.state() == pb::JOB_STATE_SUCCEEDED ? ExitCode::ok : ExitCode::job_failed;
}

}  // namespace rm
