#include "controller/core/roots/job_files.h"
#include "controller/ops/checks.h"
#include "controller/ops/ops.h"

namespace rm {
namespace {

Error refused(const Job& job, std::string_view what, const std::string& remedy) {
    return make_error(ErrorCode::failed_precondition, "job {} {}; {}", job.id, what, remedy);
}

Error without_checkpoint(const Job& job) {
    const std::string& from = job.spec.checkpoint.from;
    if (!from.empty()) {
        return refused(
            job, "has written no checkpoint",
            format("it started from {}: submit its job file again with --from that", from));
    }
    return refused(job, "has written no checkpoint",
                   "submit its job file again, with a checkpoint.every that comes earlier");
}

Error not_ended(const Job& job) {
    if (job.state == JobState::stopping) {
        return refused(job, "is stopping",
                       format("continue it when it has ended: `ringmaster wait {}`", job.id));
    }
    return refused(job, format("is {}", to_string(job.state)),
                   format("it can be continued when it has ended: `ringmaster cancel {}` ends it "
                          "with a checkpoint",
                          job.id));
}

Error without_steps(const Job& job, const std::string& checkpoints) {
    return refused(job, "has succeeded and has no step left",
                   format("submit a job file with more tokens{}",
                          checkpoints.empty() ? "" : " and --from " + checkpoints));
}

Result<SubmitJob> continuation(const State& state, const std::string& text,
                               const Principal& caller) {
    RM_TRY(const JobId id, resolve_job(state, text));
    RM_RETURN_IF_ERROR(check_owner(state, id, caller, "continue"));
    const Job& job = *find_job(state, id);
    if (!is_terminal(job.state)) return not_ended(job);
    const std::string checkpoints = checkpoints_of(state, job);
    if (job.state == JobState::succeeded) return without_steps(job, checkpoints);
    if (checkpoints.empty()) return without_checkpoint(job);
    SubmitJob next{.spec = job.spec, .yaml = job.yaml, .owner = job.owner, .continues = id};
    next.spec.checkpoint.from = checkpoints;
    return next;
}

}  // namespace

Result<pb::SubmitReply> continue_job(OpsContext& context, const pb::ContinueJobRequest& request,
                                     const Principal& caller) {
    RM_RETURN_IF_ERROR(check_request_id(request.request_id(), "continuation"));
    RM_TRY(SubmitJob next, context.control.read([&](const State& state) {
        return continuation(state, request.job_id(), caller);
    }));
    next.request = {request.request_id()};
    next.random = context.random();
    if (!caller.is_local()) next.owner = caller.name;
    RM_TRY(const JobId id, context.control.call(std::move(next)));
    pb::SubmitReply reply;
    reply.set_job_id(id.value);
    return reply;
}

}  // namespace rm
