#include "cli/client/follow.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/client/client.h"
#include "cli/client/signals.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "spec/report.h"

namespace rm {
namespace {

// For outputs other than a terminal.
constexpr int kFirstSteps = 3;
constexpr std::int64_t kPrintedSteps = 20;

bool is_final(ErrorCode code) {
    return code == ErrorCode::not_found || code == ErrorCode::invalid_argument ||
           code == ErrorCode::permission_denied || code == ErrorCode::unauthenticated ||
           code == ErrorCode::unimplemented;
}

// A server that shuts down ends its streams as CANCELLED or UNAVAILABLE, or without an error.
bool is_absence(const Status& status) {
    return status || status.error().code == ErrorCode::unavailable ||
           status.error().code == ErrorCode::cancelled;
}

// The share of the step in which compute waited for other ranks; 0 if not reported.
double waiting(const pb::StepReport& step) {
    double waited = 0;
    for (const auto& [axis, traffic] : step.axes())
        if (axis != "world") waited += traffic.wait_seconds();
    return step.seconds() > 0 ? std::min(1.0, waited / step.seconds()) : 0;
}

}  // namespace

std::string short_step_line(const pb::StepReport& step) {
    const double speed = tokens_per_second(step);
    std::string line = format("step {}/{}  loss {:.4}  grad {:.2}  {}  {} tok/s", step.step(),
                              step.num_steps(), step.loss(), step.grad_norm(),
                              Seconds{step.seconds()}, speed > 0 ? compact_count(speed) : "-");
    if (step.causal_mfu() > 0) line += "  MFU " + percent_text(step.causal_mfu());
    if (waiting(step) > 0) line += "  waiting " + percent_text(waiting(step));
    if (step.fp8_fallback_layers() > 0)
        line += format("  {} back in bf16", counted(step.fp8_fallback_layers(), "layer"));
    if (!step.finite()) line += "  not finite: update skipped";
    return line;
}

void JobFollower::update(const pb::JobUpdate& update) {
    if (update.has_job()) on_job(update.job());
    if (update.has_step()) on_step(update.step());
    if (update.has_evaluation()) on_evaluation(update.evaluation());
    if (update.has_suite()) display_.note(suite_line(from_proto(update.suite())));
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
    say_constants(step);
    say_diverged(step);
    const Progress progress = progress_of(step);
    if (!is_worth_a_line(step)) return;
    if (num_printed_++ == 0 && step.num_steps() > kPrintedSteps && !display_.in_place()) {
        display_.note(
            format("showing one step in {}, and one a minute", step.num_steps() / kPrintedSteps));
    }
    printed_step_ = step.step();
    display_.progress(progress);
}

// Outputs other than a terminal get the first steps, then the first step that arrives in each
// twentieth of the job, one a minute if steps are many, and the last. Logs stay readable.
bool JobFollower::is_worth_a_line(const pb::StepReport& step) const {
    if (display_.in_place() || num_printed_ < kFirstSteps || step.step() == step.num_steps()) {
        return true;
    }
    const std::int64_t part = std::max<std::int64_t>(1, step.num_steps() / kPrintedSteps);
    if ((step.step() - 1) / part != (printed_step_ - 1) / part) return true;
    return static_cast<double>(step.step() - printed_step_) * step.seconds() >= 60;
}

// Prints once per stage and peak: after a failure the job may run on devices with another peak.
void JobFollower::say_constants(const pb::StepReport& step) {
    const std::string about = format("{} {}", step.stage(), step.peak_name());
    if (about == shown_constants_) return;
    shown_constants_ = about;
    for (const std::string& line : step_constants(from_proto(step)))
        display_.note(line);
}

// Says it once: a run that has diverged rarely recovers, though it may still succeed.
void JobFollower::say_diverged(const pb::StepReport& step) {
    const StepReport report = from_proto(step);
    if (!has_diverged(report) || std::exchange(said_diverged_, true)) return;
    display_.note(diverged_line(report));
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
    Progress progress{short_step_line(step), step.step(), step.num_steps(), {}};
    if (const auto left = time_left(job_); left && speed_ > 0) {
        progress.left = Seconds{left->value * speed / speed_};
    }
    return progress;
}

Watch watch_of(const Client& client, const std::string& id) {
    pb::WatchRequest request;
    request.set_job_id(id);
    return [&client, request](std::stop_token stop, const auto& on_update) {
        client.connect_again();
        return client.stream(&pb::JobService::Stub::Watch, request, stop, on_update);
    };
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
            display.note(status.error().message + "; the job keeps running. Retrying...");
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
