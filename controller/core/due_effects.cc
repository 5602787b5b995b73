#include <algorithm>
#include <optional>

#include "controller/core/due.h"
#include "controller/core/input.h"
#include "controller/core/roots/job_files.h"

namespace rm {
namespace {

constexpr Seconds kNever{1e18};

// A graceful stop is acknowledged when the ranks have ended, at the latest after its grace.
Seconds overdue_after(CommandKind kind) {
    switch (kind) {
        case CommandKind::launch:
        case CommandKind::stop_now:
            return kAckOverdue;
        case CommandKind::stop_graceful:
            return kStopGrace + kAckOverdue;
        case CommandKind::forget:
            return kNever;  // not acknowledged; the next hello shows whether it arrived
    }
    return kNever;
}

bool is_due(const NodeSession& session, const NodeCommand& command, WallTime now) {
    const auto key = command_key(command);
    const auto sent = session.sent.find(key);
    return sent == session.sent.end() || now - sent->second > overdue_after(key.second);
}

LaunchAttempt launch_of(const State& state, const Attempt& attempt, const Node& node) {
    const Job* job = find_job(state, attempt.job);
    RM_CHECK(job != nullptr, "attempt {} is of job {}, which does not exist", attempt.epoch,
             attempt.job);
    LaunchAttempt launch;
    launch.epoch = attempt.epoch;
    launch.job = attempt.job;
    launch.spec = job->spec;
    launch.plan = {.mesh = attempt.mesh,
                   .zero = attempt.zero,
                   .placement = {},
                   .memory = attempt.memory,
                   .network = attempt.network,
                   .collective_timeout = attempt.collective_timeout};
    for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
        const DeviceId& device = attempt.ranks[rank].device;
        if (device.node == node.id) launch.ranks.push_back({static_cast<int>(rank), device.index});
    }
    launch.checkpoint_dir = checkpoint_parent(state, *job) + "/" + job->id.value;
    launch.owner = job->owner;
    launch.yaml = job->yaml;
    launch.data_address = node.inventory.data_address;
    return launch;
}

bool is_cleared(const Attempt& attempt, const NodeId& node) {
    return std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [&](const RankRecord& rank) {
        return rank.device.node != node || rank.state == RankState::cleared;
    });
}

std::optional<NodeCommand> wanted(const State& state, const Attempt& attempt, const Node& node) {
    if (is_cleared(attempt, node.id)) return std::nullopt;
    if (attempt.state == AttemptState::stopping) {
        return StopAttempt{attempt.epoch, attempt.stop_mode, kStopGrace};
    }
    if (node.session.reported.contains(attempt.epoch)) return std::nullopt;
    return launch_of(state, attempt, node);
}

// Adds the due commands of a live attempt.
void add_live(const State& state, const Attempt& attempt, WallTime now,
              std::vector<SendToNode>& due) {
    for (const NodeId& id : attempt.nodes()) {
        const Node* node = find_node(state, id);
        if (node == nullptr || !node->session.up) continue;
        std::optional<NodeCommand> command = wanted(state, attempt, *node);
        if (!command || !is_due(node->session, *command, now)) continue;
        due.push_back({id, std::move(*command)});
    }
}

// A lost attempt may have been launched in this session and not yet acknowledged: the stop makes
// its worker report what is left. add_ended() handles attempts that the worker has reported.
void add_leftover(const State& state, const Attempt& attempt, WallTime now,
                  std::vector<SendToNode>& due) {
    for (const NodeId& id : attempt.nodes()) {
        const Node* node = find_node(state, id);
        if (node == nullptr || !node->session.up || is_cleared(attempt, id)) continue;
        if (node->session.reported.contains(attempt.epoch)) continue;
        NodeCommand command = StopAttempt{attempt.epoch, StopMode::now, kStopGrace};
        if (is_due(node->session, command, now)) due.push_back({id, std::move(command)});
    }
}

// Adds the due commands for ended attempts that a worker still knows. Ignores attempts that this
// controller has never heard of: they may be useful work.
void add_ended(const State& state, const Node& node, WallTime now, std::vector<SendToNode>& due) {
    for (const auto& [epoch, status] : node.session.reported) {
        const Attempt* attempt = find_attempt(state, epoch);
        if (attempt == nullptr || !is_terminal(attempt->state)) continue;
        NodeCommand command = ForgetAttempt{epoch};
        if (status.processes_left) command = StopAttempt{epoch, StopMode::now, kStopGrace};
        if (is_due(node.session, command, now)) due.push_back({node.id, std::move(command)});
    }
}

}  // namespace

std::pair<Epoch, CommandKind> command_key(const NodeCommand& command) {
    if (const auto* launch = std::get_if<LaunchAttempt>(&command)) {
        return {launch->epoch, CommandKind::launch};
    }
    if (const auto* forget = std::get_if<ForgetAttempt>(&command)) {
        return {forget->epoch, CommandKind::forget};
    }
    const auto* stop = std::get_if<StopAttempt>(&command);
    RM_CHECK(stop != nullptr, "only launch, forget and stop are sent again");
    const bool now = stop->mode == StopMode::now;
    return {stop->epoch, now ? CommandKind::stop_now : CommandKind::stop_graceful};
}

std::vector<SendToNode> due_commands(const State& state, WallTime now) {
    std::vector<SendToNode> due;
    for (const Epoch epoch : state.leftover)
        add_leftover(state, state.attempts.at(epoch), now, due);
    // By epoch: a worker that has seen a higher one refuses the launch of a lower one.
    for (const Attempt* attempt : live_attempts(state))
        add_live(state, *attempt, now, due);
    for (const auto& [id, node] : state.nodes) {
        if (node.session.up) add_ended(state, node, now, due);
    }
    return due;
}

std::vector<NodeId> overdue_nodes(const State& state, WallTime now) {
    std::vector<NodeId> overdue;
    for (const auto& [id, node] : state.nodes) {
        if (node.session.up || node.state != NodeState::ready) continue;
        if (is_unreachable(state, id, now)) overdue.push_back(id);
    }
    return overdue;
}

bool planning_due(const State& state) {
    if (state.planning_requested == state.planning_version) return false;
    return std::any_of(state.live_jobs.begin(), state.live_jobs.end(), [&](const JobId& id) {
        return find_job(state, id)->state == JobState::pending;
    });
}

}  // namespace rm
