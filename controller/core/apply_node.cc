#include <algorithm>

#include "controller/core/handlers.h"
#include "controller/core/input.h"
#include "controller/core/questions.h"

namespace rm {
namespace {

void raise_epoch(Step& step, Epoch heard) {
    if (heard < step.state().next_epoch) return;
    step.change_meta("cluster.epoch_raised",
                     [&](State& state) { state.next_epoch = {heard.value + 1}; });
}

void describe(Node& node, const Hello& hello, WallTime now) {
    node.state = NodeState::ready;
    node.inventory = hello.inventory;
    node.boot_id = hello.boot_id;
    node.build = hello.build;
    node.last_seen = now;
}

void add_node(Step& step, const Hello& hello) {
    Node node;
    node.id = hello.node;
    // Nodes are never removed, so their count is the last number.
    node.number = static_cast<std::int64_t>(step.state().nodes.size()) + 1;
    node.joined = step.now();
    describe(node, hello, step.now());
    step.add_node(std::move(node));
}

void open_session(Step& step, const Hello& hello) {
    step.change_session(hello.node, [&](NodeSession& session) {
        session = NodeSession{.up = true,
                              .since = step.now(),
                              .probe_port = hello.probe_port,
                              .machine = hello.machine,
                              .network = hello.network};
        for (const AttemptStatus& status : hello.attempts)
            session.reported[status.epoch] = status;
        session.roots = hello.roots;
    });
}

}  // namespace

std::vector<Epoch> expected_on(const State& state, const NodeId& node) {
    std::vector<Epoch> epochs;
    for (const Attempt* attempt : live_attempts(state)) {
        if (attempt->nodes().contains(node)) epochs.push_back(attempt->epoch);
    }
    for (const Epoch epoch : state.leftover) {
        if (state.attempts.at(epoch).nodes().contains(node)) epochs.push_back(epoch);
    }
    return epochs;
}

void handle(Step& step, const FoundCluster& input) {
    RM_CHECK(step.state().cluster.empty(), "the cluster is {} already", step.state().cluster);
    step.change_meta("cluster.founded", [&](State& state) { state.cluster = input.cluster; });
}

void handle(Step& step, const Restored&) {
    step.change_meta("cluster.restored", [&](State& state) {
        state.restored = step.now();
        // The time, too: the same backup may be put back twice.
        const std::int64_t seconds = step.now().micros / 1'000'000;
        state.next_epoch.value = std::max(state.next_epoch.value + kRestoreEpochJump, seconds);
    });
    step.await_nodes();
}

void handle(Step& step, const NodeHello& input) {
    const Hello& hello = input.hello;
    const Status sound = check_epochs(hello, step.state().next_epoch, step.now());
    if (!sound) return step.reply(sound.error());
    const bool adopts = may_adopt(step.state(), hello.node, step.steady());
    raise_epoch(step, hello.highest_epoch);
    for (const AttemptStatus& status : hello.attempts)
        raise_epoch(step, status.epoch);
    const Node* known = find_node(step.state(), hello.node);
    const Boot boot =
        known != nullptr && known->boot_id != hello.boot_id ? Boot::another : Boot::same;
    if (known == nullptr) {
        add_node(step, hello);
    } else {
        step.change_node(hello.node, "node.session_up",
                         [&](Node& node) { describe(node, hello, step.now()); });
    }
    open_session(step, hello);
    step.node_heard(hello.node);
    step.planning_changed();
    if (adopts) adopt_unknown(step, hello);
    for (const AttemptStatus& status : hello.attempts)
        take_status(step, hello.node, status);
    for (const Epoch epoch : expected_on(step.state(), hello.node)) {
        const auto& reported = find_node(step.state(), hello.node)->session.reported;
        if (!reported.contains(epoch)) take_absence(step, hello.node, epoch, boot);
    }
    ask_questions(step);
    step.reply(JobId{});
}

void handle(Step& step, const NodeSessionDown& input) {
    const Node* node = find_node(step.state(), input.node);
    if (node == nullptr || !node->session.up) return;
    step.change_node(input.node, "node.session_down",
                     [&](Node& changed) { changed.last_seen = step.now(); });
    step.change_session(input.node, [&](NodeSession& session) {
        const auto silent = static_cast<std::int64_t>(input.silent.value * 1e6);
        session = NodeSession{
            .up = false, .since = step.now(), .silent = {step.steady().micros - silent}};
    });
    step.planning_changed();
    ask_questions(step);
}

void handle(Step& step, const NodeUnreachable& input) {
    const Node* node = find_node(step.state(), input.node);
    if (node == nullptr || node->session.up || node->state != NodeState::ready) return;
    step.change_node(input.node, "node.unreachable",
                     [](Node& changed) { changed.state = NodeState::unreachable; });
    step.planning_changed();
}

}  // namespace rm
