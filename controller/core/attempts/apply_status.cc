#include <algorithm>

#include "controller/core/handlers.h"
#include "controller/core/jobs/retry.h"

namespace rm {
namespace {

FailureClass class_of(const RankStatus& status) {
    const FailureClass kind = row_of_exit(status.exit_code).kind;
    // The kernel's out-of-memory killer also sends a signal.
    const bool by_signal = status.exit_signal != 0 && kind != FailureClass::out_of_memory;
    return by_signal ? FailureClass::rank : kind;
}

bool failed(const RankStatus& status) {
    return status.exited && class_of(status) != FailureClass::none;
}

std::string cause_of(int rank, const RankStatus& status) {
    if (!status.error.empty()) return format("rank {}: {}", rank, status.error);
    if (status.exit_signal != 0) {
        return format("rank {}: killed by signal {}, without an error message", rank,
                      status.exit_signal);
    }
    return format("rank {}: exited with code {}, without an error message", rank, status.exit_code);
}

// The node is at fault, not the job or what it trains: another node may work.
bool is_fault_of_node(const RankStatus& status) {
    return status.exited && row_of(class_of(status)).culprit == Culprit::node;
}

Failure failure_of(const NodeId& node, const RankStatus& status) {
    std::string cause = cause_of(status.rank, status);
    if (is_fault_of_node(status)) cause = format("node {} could not run its {}", node, cause);
    return {class_of(status), status.rank, std::move(cause)};
}

RankState observed(const RankStatus& status) {
    if (status.exited) return RankState::exited;
    return status.training ? RankState::training : RankState::launched;
}

void take_rank(RankRecord& record, const RankStatus& status) {
    // States only advance: a report may be older than the facts of a hello.
    record.state = std::max(record.state, observed(status));
    if (!status.exited) return;
    record.exit_code = status.exit_code;
    record.exit_signal = status.exit_signal;
    record.error = status.error;
    record.joules = status.gpu.joules;
}

bool is_here(const Attempt& attempt, const NodeId& node, int rank) {
    return rank >= 0 && rank < static_cast<int>(attempt.ranks.size()) &&
           attempt.ranks[usize(rank)].device.node == node;
}

// Whether a rank on this node has a state that passes.
template <typename Passes>
bool any_on(const Attempt& attempt, const NodeId& node, const Passes& passes) {
    return std::any_of(attempt.ranks.begin(), attempt.ranks.end(), [&](const RankRecord& rank) {
        return rank.device.node == node && passes(rank.state);
    });
}

// The failing ranks of this report in the order they died on their node.
std::vector<RankStatus> failures(const Attempt& attempt, const NodeId& node,
                                 const AttemptStatus& status) {
    std::vector<RankStatus> list;
    for (const RankStatus& rank : status.ranks) {
        if (!is_here(attempt, node, rank.rank) || !failed(rank)) continue;
        // An earlier report of this exit has already been acted on.
        const RankRecord& record = attempt.ranks[usize(rank.rank)];
        if (record.state < RankState::exited) list.push_back(rank);
    }
    std::stable_sort(list.begin(), list.end(), [](const RankStatus& a, const RankStatus& b) {
        return a.exit_order_mono_nanos < b.exit_order_mono_nanos;
    });
    return list;
}

// Ranks of this node whose exit is unknown.
std::vector<int> vanished(const Attempt& attempt, const NodeId& node) {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < attempt.ranks.size(); ++i) {
        const RankRecord& rank = attempt.ranks[i];
        if (rank.device.node == node && rank.state < RankState::exited) {
            ranks.push_back(static_cast<int>(i));
        }
    }
    return ranks;
}

void take_ranks(Step& step, const NodeId& node, const AttemptStatus& status) {
    step.change_attempt(status.epoch, "attempt.ranks", [&](Attempt& attempt) {
        for (const RankStatus& rank : status.ranks) {
            if (!is_here(attempt, node, rank.rank)) continue;
            take_rank(attempt.ranks[usize(rank.rank)], rank);
        }
    });
    step.change_attempt(status.epoch, "attempt.checkpoint_written", [&](Attempt& attempt) {
        if (status.checkpoint_step <= attempt.checkpoint_step) return;
        attempt.checkpoint_step = status.checkpoint_step;
        attempt.checkpoint_path = status.checkpoint_path;
    });
    step.change_attempt(status.epoch, "attempt.stage_done", [&](Attempt& attempt) {
        attempt.stages_done = std::max(attempt.stages_done, status.stages_done);
    });
}

void note_running(Step& step, Epoch epoch) {
    const Attempt* attempt = find_attempt(step.state(), epoch);
    const bool all =
        std::all_of(attempt->ranks.begin(), attempt->ranks.end(), [](const RankRecord& rank) {
            return rank.state == RankState::training || rank.exit_code == kRankFinished ||
                   rank.exit_code == kRankStopped;
        });
    if (attempt->state != AttemptState::starting || !all) return;
    step.change_attempt(epoch, "attempt.running",
                        [](Attempt& changed) { changed.state = AttemptState::running; });
    step.change_job(attempt->job, "job.running", [](Job& job) { job.state = JobState::running; });
}

void note_failure(Step& step, const NodeId& node, Epoch epoch, const RankStatus& rank) {
    fail_attempt(step, epoch, failure_of(node, rank));
    // Several nodes may be at fault: avoid each, whichever reported first.
    const Attempt* attempt = find_attempt(step.state(), epoch);
    if (!is_fault_of_node(rank) || attempt->failure_class != FailureClass::launch) return;
    note_launch_failure(step, node, *attempt, cause_of(rank.rank, rank));
}

void note_failures(Step& step, const NodeId& node, const AttemptStatus& status,
                   const std::vector<RankStatus>& failing) {
    for (const RankStatus& rank : failing)
        note_failure(step, node, status.epoch, rank);
    if (status.processes_left) return;
    const Attempt* attempt = find_attempt(step.state(), status.epoch);
    if (!status.launch_error.empty()) {
        if (attempt->state < AttemptState::stopping) {
            note_launch_failure(step, node, *attempt, status.launch_error);
        }
        return fail_attempt(
            step, status.epoch,
            {FailureClass::launch, -1,
             format("node {} could not start its ranks: {}", node, status.launch_error)});
    }
    const std::vector<int> lost = vanished(*attempt, node);
    if (lost.empty() || attempt->state == AttemptState::stopping) return;
    fail_attempt(step, status.epoch,
                 {FailureClass::rank, -1,
                  format("rank {} on node {} is gone and left no exit code", lost.front(), node)});
}

// One rank that its node could not run outweighs those that run.
bool all_could_run(const AttemptStatus& status) {
    const auto& ranks = status.ranks;
    return std::none_of(ranks.begin(), ranks.end(), is_fault_of_node) &&
           std::any_of(ranks.begin(), ranks.end(),
                       [](const RankStatus& rank) { return rank.running; });
}

}  // namespace

void take_status(Step& step, const NodeId& node, const AttemptStatus& status) {
    const Attempt* attempt = find_attempt(step.state(), status.epoch);
    if (attempt == nullptr || attempt->job != status.job || !attempt->nodes().contains(node)) {
        return;
    }
    if (is_terminal(attempt->state)) {
        // For a lost attempt, only note whether processes remain.
        const bool unsure = step.state().leftover.contains(status.epoch);
        if (unsure && !status.processes_left) clear_node(step, node, status.epoch);
        return;
    }
    // A worker without remaining processes keeps reporting, but that shows no progress.
    if (status.processes_left) step.heard(status.epoch);
    if (all_could_run(status)) step.launch_succeeded(node);
    const std::vector<RankStatus> failing = failures(*attempt, node, status);
    take_ranks(step, node, status);
    note_running(step, status.epoch);
    note_failures(step, node, status, failing);
    if (!status.processes_left) clear_node(step, node, status.epoch);
}

void clear_node(Step& step, const NodeId& node, Epoch epoch) {
    step.change_attempt(epoch, "attempt.node_cleared", [&](Attempt& attempt) {
        for (RankRecord& rank : attempt.ranks) {
            if (rank.device.node == node) rank.state = RankState::cleared;
        }
    });
    step.planning_changed();
    end_if_cleared(step, epoch);
}

void take_gone(Step& step, const NodeId& node, Epoch epoch, const std::string& reason) {
    const Attempt* attempt = find_attempt(step.state(), epoch);
    const std::vector<int> lost = vanished(*attempt, node);
    if (!lost.empty() && !is_terminal(attempt->state)) {
        fail_attempt(step, epoch,
                     {FailureClass::lost, -1,
                      format("rank {} is gone with node {}: {}", lost.front(), node, reason)});
    }
    clear_node(step, node, epoch);
}

void take_absence(Step& step, const NodeId& node, Epoch epoch, Boot boot) {
    const Attempt* attempt = find_attempt(step.state(), epoch);
    const bool launched =
        any_on(*attempt, node, [](RankState state) { return state != RankState::placed; });
    // Never launched there, and still wanted: the launch is due again.
    if (!launched && attempt->state < AttemptState::stopping) return;
    if (boot == Boot::another) return take_gone(step, node, epoch, "its machine was restarted");
    const std::vector<int> lost = vanished(*attempt, node);
    if (!lost.empty() && attempt->state < AttemptState::stopping) {
        fail_attempt(step, epoch,
                     {FailureClass::rank, -1,
                      format("rank {} is gone: its worker, node {}, has no record of it",
                             lost.front(), node)});
    }
    clear_node(step, node, epoch);
}

void handle(Step& step, const NodeStatus& input) {
    const Node* node = find_node(step.state(), input.node);
    if (node == nullptr || !node->session.up) return;
    const auto known = node->session.reported.find(input.status.epoch);
    const bool freed = known != node->session.reported.end() && known->second.processes_left &&
                       !input.status.processes_left;
    step.change_session(input.node, [&](NodeSession& session) {
        session.reported[input.status.epoch] = input.status;
    });
    if (freed) step.planning_changed();
    take_status(step, input.node, input.status);
}

void handle(Step& step, const StepMeasured& input) {
    const Attempt* attempt = find_attempt(step.state(), input.epoch);
    if (attempt == nullptr) return;
    step.change_attempt(input.epoch, "attempt.measured",
                        [&](Attempt& changed) { changed.measured_step = input.step; });
}

void handle(Step& step, const NodeRefused& input) {
    const Epoch epoch = input.refused.epoch;
    const Attempt* attempt = find_attempt(step.state(), epoch);
    if (attempt == nullptr) return;
    const bool placed =
        any_on(*attempt, input.node, [](RankState state) { return state == RankState::placed; });
    if (!placed) return;
    if (attempt->state < AttemptState::stopping) {
        note_launch_failure(step, input.node, *attempt, input.refused.reason);
        fail_attempt(
            step, epoch,
            {FailureClass::launch, -1,
             format("node {} refused to start its ranks: {}", input.node, input.refused.reason)});
    }
    clear_node(step, input.node, epoch);
}

}  // namespace rm
