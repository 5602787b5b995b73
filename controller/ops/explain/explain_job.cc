#include "controller/ops/explain/explain.h"
#include "controller/ops/ops.h"
#include "controller/ops/views.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

// Last steps read from each rank but rank 0, which gives kPaceSteps.
constexpr int kFewSteps = 8;

Result<std::vector<RankPace>> read_pace(OpsContext& context, const pb::Job& job) {
    std::vector<RankPace> ranks;
    if (job.attempts().empty()) return ranks;
    const pb::Attempt& attempt = job.attempts(job.attempts_size() - 1);
    for (const pb::Placement& place : attempt.placement()) {
        const int rank = static_cast<int>(ranks.size());
        RankPace& pace = ranks.emplace_back();
        pace.rank = rank;
        pace.device = {{place.node_id()}, place.device()};
        RM_TRY(const auto kept, context.telemetry.last_steps({attempt.epoch()}, rank,
                                                             rank == 0 ? kPaceSteps : kFewSteps));
        for (const KeptReport& report : kept)
            pace.steps.push_back(from_proto(step_message(report)));
    }
    return ranks;
}

}  // namespace

Result<pb::ExplainJobReply> explain_job(OpsContext& context, const pb::ExplainJobRequest& request) {
    const Now now = context.now();
    StepsAre steps = StepsAre::reported;
    bool waits = false;
    RM_TRY(pb::ExplainJobReply reply,
           context.control.read([&](const State& state) -> Result<pb::ExplainJobReply> {
               RM_TRY(const JobId id, resolve_job(state, request.job_id()));
               const Job& job = *find_job(state, id);
               pb::ExplainJobReply found;
               steps = steps_are(state, job);
               waits = waits_for_devices(job);
               *found.mutable_job() = to_message(state, job, now);
               for (pb::Finding& finding : explain(state, job, now))
                   *found.add_findings() = std::move(finding);
               return found;
           }));
    const auto add = [&reply](const Findings& findings) {
        reply.mutable_findings()->Add(findings.begin(), findings.end());
    };
    if (waits) add(explain_machines(context.machines()));
    RM_RETURN_IF_ERROR(add_reports(context, *reply.mutable_job()));
    RM_RETURN_IF_ERROR(add_suites(context, *reply.mutable_job()));
    add(explain_divergence(reply.job().last_step()));
    RM_RETURN_IF_ERROR(add_alarms(context, *reply.mutable_job()));
    for (const pb::Alarm& alarm : reply.job().alarms()) {
        add({problem(
            format("alarm of attempt {}", alarm.epoch()),
            format("{} ago: {}", to_string(now.wall - from_proto(alarm.time())), alarm.text()),
            "look at the disk of the checkpoints; `ring-checkpoint verify DIR` reads all of "
            "them")});
    }
    if (reply.job().state() != pb::JOB_STATE_RUNNING) return reply;
    RM_TRY(const std::vector<RankPace> pace, read_pace(context, reply.job()));
    add(explain_pace(pace));
    add(explain_step(reply.job().last_step(), now.wall, steps));
    return reply;
}

}  // namespace rm
