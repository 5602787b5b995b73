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

}  // namespace

void handle(Step& step, const DrainNode& input) {
    if (named(step, input.node) == nullptr) return;
    step.change_node(input.node, "node.drained", [&](Node& node) {
        node.drained = input.reason.empty() ? "by an admin" : input.reason;
    });
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
    if (named(step, input.node) == nullptr) return;
    step.change_node(input.node, "node.gone", [](Node& node) { node.state = NodeState::gone; });
    step.planning_changed();
    step.reply(JobId{});
}

}  // namespace rm
