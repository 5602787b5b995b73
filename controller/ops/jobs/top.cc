#include <algorithm>
#include <chrono>
#include <thread>

#include "controller/ops/ops.h"
#include "controller/ops/views.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

constexpr Seconds kShortestInterval{0.2};
constexpr std::chrono::milliseconds kLook{100};

void add_status(pb::TopRank& out, const RankStatus& status) {
    out.set_reported(true);
    out.set_running(status.running);
    out.set_exited(status.exited);
    out.set_suspended(status.suspended);
    out.set_phase(status.phase);
    out.set_step(status.step);
    out.set_last_collective(status.last_collective);
    out.set_waits_for(status.waits_for + 1);
    out.set_quiet_seconds(status.quiet.value);
    out.set_longest_quiet_seconds(status.longest_quiet.value);
    if (status.gpu != GpuUse()) *out.mutable_gpu() = to_proto(status.gpu);
}

void add_node(pb::TopRank& out, const Node& node, Epoch epoch) {
    out.set_hostname(node.inventory.hostname);
    out.set_session_up(node.session.up);
    if (const DeviceInfo* device = find_device(node, out.device())) {
        out.set_device_kind(device->kind);
        out.set_device_memory_bytes(device->memory.value);
    }
    if (const RankStatus* status = find_status(node, epoch, out.rank())) add_status(out, *status);
}

void add_ranks(pb::TopJob& out, const State& state, const Attempt& attempt) {
    for (const RankRecord& record : attempt.ranks) {
        pb::TopRank& rank = *out.add_ranks();
        rank.set_rank(out.ranks_size() - 1);
        rank.set_node_id(record.device.node.value);
        rank.set_device(record.device.index);
        const Node* node = find_node(state, record.device.node);
        if (node != nullptr) add_node(rank, *node, attempt.epoch);
    }
}

pb::TopJob top_job(const State& state, const Job& job, const Now& now) {
    pb::TopJob out;
    *out.mutable_job() = without_text(to_message(state, job, now));
    const Attempt* attempt = newest_attempt(state, job.id);
    if (attempt != nullptr && !is_terminal(attempt->state)) add_ranks(out, state, *attempt);
    return out;
}

// The requested job, or all live jobs that have ranks.
Result<pb::TopReply> look(const State& state, const std::string& id, const Now& now) {
    pb::TopReply reply;
    if (!id.empty()) {
        RM_TRY(const JobId one, resolve_job(state, id));
        *reply.add_jobs() = top_job(state, *find_job(state, one), now);
        return reply;
    }
    for (const auto& [number, job] : live_jobs(state)) {
        pb::TopJob top = top_job(state, *job, now);
        if (top.ranks_size() > 0) *reply.add_jobs() = std::move(top);
    }
    return reply;
}

void add_step(pb::TopRank& out, const StepReport& step) {
    out.set_last_step(step.step);
    out.set_step_seconds(step.seconds);
    out.set_wait_seconds(waited_seconds(step));
    out.set_ring_wait_seconds(seconds_in(step, exposed_phase("ring")));
    out.set_causal_mfu(step.causal_mfu);
    out.set_peak_name(step.peak_name);
    out.set_device_bytes(step.memory.total.value);
    out.set_host_bytes(step.memory.host_total().value);
}

Status add_steps(OpsContext& context, pb::TopJob& job) {
    RM_RETURN_IF_ERROR(add_reports(context, *job.mutable_job()));
    if (job.ranks().empty()) return {};
    const Epoch epoch{job.job().attempts(job.job().attempts_size() - 1).epoch()};
    for (pb::TopRank& rank : *job.mutable_ranks()) {
        RM_TRY(const auto last, context.telemetry.last_steps(epoch, rank.rank(), 1));
        if (!last.empty()) add_step(rank, from_proto(step_message(last.front())));
    }
    return {};
}

Result<pb::TopReply> top(OpsContext& context, const std::string& id) {
    const Now now = context.now();
    RM_TRY(pb::TopReply reply,
           context.control.read([&](const State& state) { return look(state, id, now); }));
    *reply.mutable_time() = to_proto(now.wall);
    for (pb::TopJob& job : *reply.mutable_jobs())
        RM_RETURN_IF_ERROR(add_steps(context, job));
    return reply;
}

bool has_ended(const pb::TopReply& reply) {
    const pb::JobState state = reply.jobs(0).job().state();
    return state == pb::JOB_STATE_SUCCEEDED || state == pb::JOB_STATE_FAILED ||
           state == pb::JOB_STATE_CANCELLED;
}

// False: the caller has gone.
bool wait(Seconds interval, const StreamCall& call) {
    const auto pause = std::chrono::duration<double>(std::max(interval, kShortestInterval).value);
    const auto end = std::chrono::steady_clock::now() + pause;
    while (std::chrono::steady_clock::now() < end) {
        if (call.cancelled()) return false;
        std::this_thread::sleep_for(kLook);
    }
    return !call.cancelled();
}

}  // namespace

Status watch_top(OpsContext& context, const pb::TopRequest& request, const StreamCall& call,
                 const std::function<bool(const pb::TopReply&)>& write) {
    do {
        RM_TRY(const pb::TopReply reply, top(context, request.job_id()));
        if (!write(reply)) return {};
        if (!(request.interval_seconds() > 0)) return {};
        if (!request.job_id().empty() && has_ended(reply)) return {};
    } while (wait(Seconds{request.interval_seconds()}, call));
    return {};
}

}  // namespace rm
