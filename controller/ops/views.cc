#include "controller/ops/views.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/text.h"
#include "controller/core/jobs/job_cost.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

constexpr int kDefaultPage = 100;
constexpr int kMaxPage = 1000;

// The enumerators of messages have the order of those of tables, after one for "unspecified".
template <typename Message, typename State>
Message to_message(State state) {
    return static_cast<Message>(static_cast<int>(state) + 1);
}
static_assert(static_cast<int>(JobState::cancelled) + 1 == pb::JOB_STATE_CANCELLED &&
              pb::JobState_MAX == pb::JOB_STATE_CANCELLED);
static_assert(static_cast<int>(AttemptState::cancelled) + 1 == pb::ATTEMPT_STATE_CANCELLED &&
              pb::AttemptState_MAX == pb::ATTEMPT_STATE_CANCELLED);
static_assert(static_cast<int>(NodeState::gone) + 1 == pb::NODE_STATE_GONE &&
              pb::NodeState_MAX == pb::NODE_STATE_GONE);

pb::Coordinates to_message(const Mesh::Coords& coords) {
    pb::Coordinates message;
    message.set_data(coords[usize(Axis::data)]);
    message.set_ring(coords[usize(Axis::ring)]);
    message.set_ulysses(coords[usize(Axis::ulysses)]);
    message.set_tensor(coords[usize(Axis::tensor)]);
    return message;
}

pb::Attempt to_message(const Attempt& attempt, WallTime now) {
    pb::Attempt message;
    message.set_epoch(attempt.epoch.value);
    message.set_state(to_message<pb::AttemptState>(attempt.state));
    *message.mutable_mesh() = to_proto(attempt.mesh);
    message.set_zero(attempt.zero);
    message.set_network(std::string(to_string(attempt.network)));
    *message.mutable_memory() = to_proto(attempt.memory);
    for (const RankRecord& rank : attempt.ranks) {
        const Mesh::Coords at = attempt.mesh.coords(message.placement_size());
        pb::Placement* placement = message.add_placement();
        placement->set_node_id(rank.device.node.value);
        placement->set_device(rank.device.index);
        *placement->mutable_coordinates() = to_message(at);
        message.set_energy_joules(message.energy_joules() + rank.joules);
    }
    if (attempt.predicted != PlanPrediction{})
        *message.mutable_predicted() = to_proto(attempt.predicted);
    message.set_measured_step_seconds(attempt.measured_step.value);
    if (attempt.rates != Rates{}) *message.mutable_cost() = to_proto(cost_of(attempt, now));
    *message.mutable_started() = to_proto(attempt.started);
    if (attempt.ended.micros != 0) *message.mutable_ended() = to_proto(attempt.ended);
    message.set_cause(attempt.cause);
    message.set_last_checkpoint_step(attempt.checkpoint_step);
    message.set_last_checkpoint_path(attempt.checkpoint_path);
    message.set_stages_done(attempt.stages_done);
    if (attempt.failure_class != FailureClass::none) {
        message.set_failure_class(std::string(to_string(attempt.failure_class)));
    }
    return message;
}

void add_root(pb::Node& message, const State& state, const Node& node, const RootInfo& root) {
    pb::Root& added = *message.add_roots();
    added = to_proto(root);
    const auto place = node.session.places.find(root.name);
    if (place == node.session.places.end()) return;
    added.set_measured(true);
    for (const NodeId& id : state.declaring) {
        const auto& places = state.nodes.at(id).session.places;
        const auto same = places.find(root.name);
        const bool shared = same != places.end() && same->second == place->second;
        if (shared && id != node.id) added.add_shared_with(id.value);
    }
}

// The text travels once in a list: with the node that has measured it.
void add_profiles(pb::Node& message, const State& state, const Node& node) {
    std::set<std::string> kinds;
    for (const DeviceInfo& device : node.inventory.devices)
        kinds.insert(device.kind);
    const auto add = [&](const std::string& kind, Precision precision) {
        const auto kept =
            state.profiles.find({kind, profile_driver(node.inventory, kind, precision)});
        if (kept == state.profiles.end()) return;
        pb::MeasuredProfile& added = *message.add_profiles();
        added = to_proto(kept->second.measured);
        if (kept->second.node != node.id) added.clear_text();
        added.set_node_id(kept->second.node.value);
        *added.mutable_time() = to_proto(kept->second.time);
    };
    for (const std::string& kind : kinds) {
        add(kind, Precision::bf16);
        if (kind == "cpu") add(kind, Precision::fp32);
    }
}

// Jobs examined in one call, wanted or not: commits wait while a reader holds the state. A page may
// be short or empty and still have a successor.
constexpr std::size_t kMaxLooks = 20'000;

struct PageLimits {
    std::int64_t before = 0;  // a job's number
    int jobs = 0;
};

pb::ListJobsReply take_page(const State& state, const Now& now, const JobIndex::Map& numbers,
                            const PageLimits& limits,
                            const std::function<bool(const Job&)>& wanted) {
    pb::ListJobsReply page;
    auto it = numbers.lower_bound(limits.before);
    std::int64_t last = limits.before;
    std::size_t bytes = 0;
    for (std::size_t looks = 0; it != numbers.begin(); ++looks) {
        --it;
        const Job& job = *it->second;
        const bool fits = wanted(job);
        const bool full = page.jobs_size() == limits.jobs || bytes >= kMaxPageBytes;
        if (looks == kMaxLooks || (fits && full)) {
            page.set_next_page_token(std::to_string(last));
            break;
        }
        if (fits) {
            *page.add_jobs() = without_text(to_message(state, job, now));
            bytes += page.jobs(page.jobs_size() - 1).ByteSizeLong();
        }
        last = job.number;
    }
    return page;
}

}  // namespace

pb::JobState to_message(JobState state) {
    return to_message<pb::JobState>(state);
}

pb::Job to_message(const State& state, const Job& job, const Now& now) {
    pb::Job message;
    message.set_id(job.id.value);
    message.set_project(job.project);
    message.set_owner(job.owner);
    *message.mutable_spec() = to_proto(job.spec);
    message.mutable_spec()->set_yaml(job.yaml);
    message.set_state(to_message(job.state));
    *message.mutable_submitted() = to_proto(job.submitted);
    if (job.ended.micros != 0) *message.mutable_ended() = to_proto(job.ended);
    for (const Reason& reason : job.blocking_reasons)
        message.add_blocking_reasons(to_string(reason));
    message.set_failure(job.failure);
    message.set_num_steps(job.spec.num_steps());
    if (job.retry_at.micros != 0) *message.mutable_retry_at() = to_proto(now.shown(job.retry_at));
    for (const DeviceId& device : job.excluded)
        message.add_excluded_devices(format("{}", device));
    message.set_continues(job.continues.value);
    message.set_recovered(job.recovered);
    for (const Epoch epoch : epochs_of(state, job.id))
        *message.add_attempts() = to_message(state.attempts.at(epoch), now.wall);
    if (const RunCost cost = cost_of(state, job, now.wall); cost.money > 0 || cost.kwh > 0)
        *message.mutable_cost() = to_proto(cost);
    return message;
}

pb::Node to_message(const State& state, const Node& node, const std::map<DeviceId, Holder>& holders,
                    WallTime now) {
    pb::Node message;
    message.set_id(node.id.value);
    message.set_state(to_message<pb::NodeState>(node.state));
    message.set_session_up(node.session.up);
    *message.mutable_inventory() = to_proto(node.inventory);
    for (const DeviceInfo& device : node.inventory.devices) {
        if (holders.contains({node.id, device.index})) message.add_busy_devices(device.index);
    }
    *message.mutable_joined() = to_proto(node.joined);
    // A session that is up has echoed within seconds.
    *message.mutable_last_seen() = to_proto(node.session.up ? now : node.last_seen);
    message.set_build(node.build);
    message.set_drained(node.drained);
    message.set_removed(node.removed);
    for (const RootInfo& root : node.session.roots)
        add_root(message, state, node, root);
    message.set_machine(node.session.machine);
    add_profiles(message, state, node);
    return message;
}

pb::StepReport step_message(const KeptReport& kept) {
    pb::StepReport report;
    report.ParseFromString(kept.bytes);
    *report.mutable_time() = to_proto(kept.received);
    return report;
}

pb::EvaluationReport evaluation_message(const KeptReport& kept) {
    pb::EvaluationReport report;
    report.ParseFromString(kept.bytes);
    return report;
}

pb::SuiteReport suite_message(const KeptReport& kept) {
    pb::SuiteReport report;
    report.ParseFromString(kept.bytes);
    return report;
}

Status add_reports(OpsContext& context, pb::Job& job) {
    RM_TRY(const auto step, context.telemetry.last({job.id()}, PieceKind::step));
    if (step) *job.mutable_last_step() = step_message(*step);
    RM_TRY(const auto evaluation, context.telemetry.last({job.id()}, PieceKind::evaluation));
    if (evaluation) *job.mutable_last_evaluation() = evaluation_message(*evaluation);
    for (pb::Attempt& attempt : *job.mutable_attempts()) {
        RM_TRY(const auto last, context.telemetry.last_steps({attempt.epoch()}, 0, 1));
        if (!last.empty()) *attempt.mutable_last_step() = step_message(last.front());
    }
    return {};
}

Status add_alarms(OpsContext& context, pb::Job& job) {
    constexpr int kMost = 4;
    RM_TRY(const auto alarms, context.telemetry.alarms({job.id()}, kMost));
    for (auto alarm = alarms.rbegin(); alarm != alarms.rend(); ++alarm) {
        pb::Alarm& message = *job.add_alarms();
        message.set_epoch(alarm->epoch.value);
        *message.mutable_time() = to_proto(alarm->received);
        message.set_text(alarm->bytes);
    }
    return {};
}

Status add_suites(OpsContext& context, pb::Job& job) {
    RM_TRY(const auto suites, context.telemetry.suites({job.id()}));
    for (const KeptReport& suite : suites)
        *job.add_last_suites() = suite_message(suite);
    return {};
}

Result<pb::Job> view_job(OpsContext& context, const std::string& id) {
    const Now now = context.now();
    RM_TRY(pb::Job job, context.control.read([&](const State& state) -> Result<pb::Job> {
        RM_TRY(const JobId resolved, resolve_job(state, id));
        return to_message(state, *find_job(state, resolved), now);
    }));
    RM_RETURN_IF_ERROR(add_reports(context, job));
    RM_RETURN_IF_ERROR(add_suites(context, job));
    RM_RETURN_IF_ERROR(add_alarms(context, job));
    return job;
}

Status add_connections(OpsContext& context, pb::Job& job) {
    for (pb::Attempt& attempt : *job.mutable_attempts()) {
        RM_TRY(const auto reports, context.telemetry.connections({attempt.epoch()}));
        for (const auto& [rank, bytes] : reports)
            (*attempt.mutable_connections())[rank].ParseFromString(bytes);
    }
    return {};
}

pb::Job without_text(pb::Job job) {
    job.mutable_spec()->clear_yaml();
    return job;
}

int page_size(int requested) {
    return requested <= 0 ? kDefaultPage : std::min(requested, kMaxPage);
}

Result<std::int64_t> parse_page_token(const std::string& token, std::int64_t first) {
    if (token.empty()) return first;
    if (const auto number = parse_number<std::int64_t>(token)) return *number;
    return invalid_argument("'{}' is not a page token of this call", token);
}

JobIndex::Map live_jobs(const State& state) {
    JobIndex::Map jobs;
    for (const JobId& id : state.live_jobs) {
        const Job* job = find_job(state, id);
        jobs.emplace(job->number, job);
    }
    return jobs;
}

Result<pb::ListJobsReply> read_jobs_page(OpsContext& context, int size, const std::string& token,
                                         Which which,
                                         const std::function<bool(const Job&)>& wanted) {
    RM_TRY(const std::int64_t before,
           parse_page_token(token, std::numeric_limits<std::int64_t>::max()));
    const PageLimits limits{before, page_size(size)};
    const Now now = context.now();
    pb::ListJobsReply page = context.control.read([&](const State& state) {
        if (which == Which::all) {
            return take_page(state, now, state.jobs_by_number.map(), limits, wanted);
        }
        return take_page(state, now, live_jobs(state), limits, wanted);
    });
    for (pb::Job& job : *page.mutable_jobs())
        RM_RETURN_IF_ERROR(add_reports(context, job));
    return page;
}

}  // namespace rm
