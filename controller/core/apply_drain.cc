#include "controller/core/handlers.h"

namespace rm {
namespace {

// Null, and the refusal is said, where there is no such node.
const Node* named(Step& step, const NodeId& id) {
    const Node* node = find_node(step.state(), id);
    if (node == nullptr) {
        step.reply(make_error(ErrorCode::not_found, "there is no node '{}'", id));
    }
    return node;
}

// Attempts that are stopping already have their reason.
void stop_what_runs_on(Step& step, const NodeId& node) {
    const std::string cause =
        format("node {} is drained: {}", node, find_node(step.state(), node)->drained);
    for (const Epoch epoch : expected_on(step.state(), node)) {
        if (find_attempt(step.state(), epoch)->state >= AttemptState::stopping) continue;
        step.change_attempt(epoch, "attempt.drained",
                            [&](Attempt& attempt) { attempt.cause = cause; });
        stop_attempt(step, epoch, StopReason::drain, StopMode::graceful);
    }
}

}  // namespace

void handle(Step& step, const DrainNode& input) {
    if (named(step, input.node) == nullptr) return;
    step.change_node(input.node, "node.drained", [&](Node& node) {
        node.drained = input.reason.empty() ? "by an admin" : input.reason;
    });
    if (!input.keep_running) stop_what_runs_on(step, input.node);
    step.planning_changed();
    step.reply(JobId{});
}

void handle(Step& step, const ResumeNode& input) {
    if (named(step, input.node) == nullptr) return;
    step.change_node(input.node, "node.resumed", [](Node& node) { node.drained.clear(); });
    step.planning_changed();
    step.reply(JobId{});
}

void handle(Step& step, const NodeGone& input) {
    const Node* node = named(step, input.node);
    if (node == nullptr) return;
    if (node->session.up) {
        return step.reply(make_error(ErrorCode::failed_precondition,
                                     "node {} has a session, so it is not gone; drain it, or stop "
                                     "its worker first",
                                     input.node));
    }
    step.change_node(input.node, "node.gone",
                     [](Node& changed) { changed.state = NodeState::gone; });
    const std::string reason = input.reason.empty() ? "an admin says so" : input.reason;
    for (const Epoch epoch : expected_on(step.state(), input.node))
        take_gone(step, input.node, epoch, reason);
    step.planning_changed();
    step.reply(JobId{});
}

}  // namespace rm
