#include <thread>

#include "cli/client/calls.h"
#include "cli/client/follow.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "cli/up/cluster.h"
#include "spec/report.h"

namespace rm {
namespace {

constexpr Seconds kAdmissionLimit{5};
constexpr Seconds kPoll{0.2};

Error never_starts(const pb::Job& job) {
    std::string reasons;
    for (const std::string& reason : job.blocking_reasons())
        reasons += "\n  " + reason;
    return make_error(ErrorCode::failed_precondition, "the job cannot start on this cluster:{}",
                      reasons);
}

// Other jobs of a continued state directory may hold the devices for now.
Result<bool> others_live(const std::string& id, Client& client) {
    RM_TRY(const std::vector<pb::Job> jobs, live_jobs(client));
    for (const pb::Job& job : jobs) {
        if (job.id() != id && job.state() != pb::JOB_STATE_PENDING) return true;
    }
    return false;
}

// The error when a job is pending and nothing will change that; then the job is cancelled.
Status check_admitted(const std::string& id, Client& client) {
    RM_TRY(const pb::Job job, get_job(client, id));
    if (job.state() != pb::JOB_STATE_PENDING || job.blocking_reasons().empty()) return {};
    RM_TRY(const bool may_change, others_live(id, client));
    if (may_change) return {};
    RM_TRY(const pb::Job cancelled, cancel_job(client, id, CancelMode::now));
    return never_starts(job);
}

// Looks once, kAdmissionLimit after submission, while the job is being followed.
class AdmissionGuard {
public:
    AdmissionGuard(const std::string& id, Client& client)
        : thread_([this, id, &client](const std::stop_token& quit) {
              if (sleep_for(kAdmissionLimit, quit)) verdict_ = check_admitted(id, client);
          }) {}

    Status finish() {
        thread_.request_stop();
        thread_.join();
        return verdict_;
    }

private:
    Status verdict_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace

Result<ExitCode> run_job(const pb::JobSpec& spec, LocalCluster& cluster, Signals& signals,
                         Console& console) {
    Client& client = cluster.client();
    RM_TRY(const std::string id, submit_job(client, spec));
    AdmissionGuard admission(id, client);
    ProgressDisplay display(console.err);
    JobFollower follower(display);
    const Watch watch = watch_of(client, id);
    int interrupts = 0;
    while (!follower.ended() && interrupts < 2) {
        RM_RETURN_IF_ERROR(follow(watch, follower, display, signals.token()));
        // In this order: a child that ends after the check leaves its signal for the next round.
        const int arrived = signals.take().interrupts;
        RM_RETURN_IF_ERROR(cluster.check());
        if (arrived == 0 || follower.ended()) continue;
        interrupts += arrived;
        const bool now = interrupts > 1;
        display.note(now ? "stopping now"
                         : "stopping with a checkpoint; Ctrl-C again stops without one");
        RM_TRY(const pb::Job stopping,
               cancel_job(client, id, now ? CancelMode::now : CancelMode::checkpoint_first));
    }
    display.finish();
    RM_RETURN_IF_ERROR(admission.finish());
    RM_TRY(const pb::Job job, get_job(client, id));
    console.out.stream << job_summary(job) << std::flush;
    return interrupts > 0 ? ExitCode::interrupted : exit_code_of(job);
}

Status cancel_live_jobs(LocalCluster& cluster, Signals& signals, Console& console, Seconds limit) {
    Client& client = cluster.client();
    RM_TRY(const std::vector<pb::Job> jobs, live_jobs(client));
    for (const pb::Job& job : jobs) {
        console.note(format("stopping job {} ({}) with a checkpoint", job.id(), job.spec().name()));
        RM_TRY(const pb::Job stopping, cancel_job(client, job.id(), CancelMode::checkpoint_first));
    }
    for (Seconds waited; waited < limit; waited += kPoll) {
        const int interrupts = signals.take().interrupts;
        RM_RETURN_IF_ERROR(cluster.check());
        RM_TRY(const std::vector<pb::Job> left, live_jobs(client));
        if (left.empty() || interrupts > 0) return {};
        signals.wait_for(kPoll);
    }
    return make_error(ErrorCode::deadline_exceeded, "jobs still run {} after they were cancelled",
                      limit);
}

std::string job_summary(const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    const pb::StepReport& step = job.last_step();
    std::string text =
        format("job {} ({}) {}: {}, {} tokens", job.id(), job.spec().name(),
               state_name(job.state()), counted(step.step(), "step"), grouped(step.tokens_total()));
    if (attempt != nullptr && attempt->has_started() && job.has_ended()) {
        text += " in " + span_text(from_proto(job.ended()) - from_proto(attempt->started()));
    }
    text += "\n";
    if (job.has_last_step()) text += format("last training loss {:.4}\n", step.loss());
    if (has_diverged(from_proto(step))) text += diverged_line(from_proto(step)) + "\n";
    if (job.has_last_evaluation()) {
        text += evaluation_line(from_proto(job.last_evaluation())) + "\n";
    }
    if (attempt != nullptr && !attempt->last_checkpoint_path().empty()) {
        text += format("checkpoint {}\n", attempt->last_checkpoint_path());
    }
    return printable(text);
}

}  // namespace rm
