#include <algorithm>

#include "controller/core/handlers.h"
#include "controller/core/input.h"
#include "controller/core/roots/questions.h"

namespace rm {
namespace {

void raise_epoch(Step& step, Epoch heard) {
    if (heard < step.state().next_epoch) return;
    step.change_meta("cluster.epoch_raised",
                     [&](State& state) { state.next_epoch = {heard.value + 1}; });
}

bool offers(const std::vector<DataAddress>& addresses, const std::string& address) {
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const DataAddress& one) { return one.address == address; });
}

// Keeps the data address that the survey has chosen while the worker offers it.
void describe(Node& node, const Hello& hello, WallTime now) {
    const std::string chosen = node.inventory.data_address;
    node.state = NodeState::ready;
    node.inventory = hello.inventory;
    if (offers(hello.data_addresses, chosen)) node.inventory.data_address = chosen;
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
    describe(node, hello, step.since_restore());
    step.add_node(std::move(node));
}

void open_session(Step& step, const Hello& hello) {
    step.change_session(hello.node, [&](NodeSession& session) {
        session = NodeSession{.up = true,
                              .since = step.now(),
                              .probe_port = hello.probe_port,
                              .machine = hello.machine,
                              .network = hello.network,
                              .data_addresses = hello.data_addresses};
        for (const AttemptStatus& status : hello.attempts)
            session.reported[status.epoch] = status;
        session.roots = hello.roots;
    });
}

// A session that tells again what is known changes nothing.
void keep_profiles(Step& step, const Hello& hello) {
    for (const MeasuredProfile& measured : hello.profiles) {
        const auto known = step.state().profiles.find(key_of(measured));
        const bool is_known = known != step.state().profiles.end();
        if (is_known && known->second.measured == measured) continue;
        // A node's own older file is no news while another's is there from the same build.
        const bool is_others = is_known && known->second.node != hello.node &&
                               known->second.measured.build == measured.build;
        if (!is_others) step.put_profile({measured, hello.node, step.now()});
    }
}

// Finds the node, or replies NOT_FOUND and returns null.
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

std::vector<Field> fields_of(const LinkDrifted& drift) {
    return {{"from", drift.from.value},
            {"to", drift.to.value},
            {"baseline_gbit_per_s", format("{:.3}", drift.baseline.value)},
            {"gbit_per_s", format("{:.3}", drift.now.value)}};
}

// The subjects that it affects: the attempts that may use the link, or else the sending node.
std::vector<std::string> subjects_of(const State& state, const LinkDrifted& drift) {
    std::vector<std::string> subjects;
    for (const Attempt* attempt : live_attempts(state)) {
        const std::set<NodeId> nodes = attempt->nodes();
        const bool uses = nodes.contains(drift.from) && nodes.contains(drift.to);
        if (uses) subjects.push_back(subject_of(*attempt));
    }
    if (subjects.empty()) subjects.push_back(subject_of(state.nodes.at(drift.from)));
    return subjects;
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

// Later than every time in the backup that rules compare with it, whatever the clock says.
WallTime time_of_restore(const State& state, WallTime now) {
    WallTime time = now;
    for (const auto& [id, job] : state.jobs)
        time = std::max(time, WallTime{job.ended.micros + 1});
    for (const auto& [id, node] : state.nodes)
        time = std::max(time, WallTime{node.last_seen.micros + 1});
    return time;
}

void handle(Step& step, const Restored&) {
    step.change_meta("cluster.restored", [&](State& state) {
        state.restored = time_of_restore(state, step.now());
        // Uses the time, too: an admin may restore the same backup twice.
        const std::int64_t seconds = step.now().micros / 1'000'000;
        state.next_epoch.value = std::max(state.next_epoch.value + kRestoreEpochJump, seconds);
    });
    step.await_nodes();
}

namespace {

// A rank whose GPU has left the bus may hang in the driver for ever. Copies the list: a failure
// changes attempts.
void fail_on_lost_devices(Step& step, const NodeId& id) {
    const std::vector<DeviceInfo> devices = find_node(step.state(), id)->inventory.devices;
    const auto lost_at = [&](const DeviceId& at) {
        return std::find_if(devices.begin(), devices.end(), [&](const DeviceInfo& device) {
            return at.node == id && at.index == device.index && device.lost;
        });
    };
    for (const Attempt* attempt : live_attempts(step.state())) {
        const auto num_ranks = std::ssize(attempt->ranks);
        for (int rank = 0; rank < num_ranks; ++rank) {
            const DeviceId& at = attempt->ranks[usize(rank)].device;
            const auto device = lost_at(at);
            if (device == devices.end()) continue;
            fail_attempt(step, attempt->epoch,
                         {FailureClass::device_fault, rank,
                          format("rank {}: its device {} is lost: {}", rank, at, device->unfit)});
            break;
        }
    }
}

void lose_all_on(Step& step, const NodeId& node, const std::string& reason) {
    for (const Epoch epoch : expected_on(step.state(), node))
        take_gone(step, node, epoch, reason);
    step.planning_changed();
}

}  // namespace

void handle(Step& step, const NodeHello& input) {
    const Hello& hello = input.hello;
    const Node* known = find_node(step.state(), hello.node);
    if (known != nullptr && known->removed) {
        return step.reply(make_error(ErrorCode::failed_precondition,
                                     "node {} was removed; with an empty state directory and a new "
                                     "token its machine joins as another node",
                                     hello.node));
    }
    const Status sound = check_epochs(hello, step.state().next_epoch, step.now());
    if (!sound) return step.reply(sound.error());
    const bool adopts = may_adopt(step.state(), hello.node, step.steady());
    raise_epoch(step, hello.highest_epoch);
    for (const AttemptStatus& status : hello.attempts)
        raise_epoch(step, status.epoch);
    const Boot boot =
        known != nullptr && known->boot_id != hello.boot_id ? Boot::another : Boot::same;
    if (known == nullptr) {
        add_node(step, hello);
    } else {
        step.change_node(hello.node, "node.session_up",
                         [&](Node& node) { describe(node, hello, step.since_restore()); });
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
    fail_on_lost_devices(step, hello.node);
    keep_profiles(step, hello);
    ask_questions(step);
    step.reply(JobId{});
}

void handle(Step& step, const NodeSessionDown& input) {
    const Node* node = find_node(step.state(), input.node);
    if (node == nullptr || !node->session.up) return;
    step.change_node(input.node, "node.session_down",
                     [&](Node& changed) { changed.last_seen = step.since_restore(); });
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
    lose_all_on(step, input.node, input.reason.empty() ? "an admin says so" : input.reason);
    step.reply(JobId{});
}

void handle(Step& step, const NodeRemoved& input) {
    const Node* node = named(step, input.node);
    if (node == nullptr) return;
    if (node->session.up) {
        return step.reply(make_error(ErrorCode::unavailable,
                                     "node {} still has a session; ask again", input.node));
    }
    if (node->removed) return step.reply(JobId{});
    step.change_node(input.node, "node.removed", [](Node& changed) {
        changed.state = NodeState::gone;
        changed.removed = true;
    });
    lose_all_on(step, input.node, input.reason.empty() ? "it was removed" : input.reason);
    step.reply(JobId{});
}

void handle(Step& step, const NodeDevices& input) {
    const Node* node = find_node(step.state(), input.node);
    if (node == nullptr || !node->session.up) return;
    std::vector<DeviceInfo> devices = node->inventory.devices;
    if (!set_fitness(devices, input.report)) return;
    step.change_node(input.node, "node.devices_changed",
                     [&](Node& changed) { changed.inventory.devices = devices; });
    fail_on_lost_devices(step, input.node);
    step.planning_changed();
}

// Attempts that run stay where they listen: the next launch takes the ranks there.
void handle(Step& step, const DataAddressChosen& input) {
    const Node* node = find_node(step.state(), input.node);
    const bool may = node != nullptr && offers(node->session.data_addresses, input.address);
    if (!may || node->inventory.data_address == input.address) return;
    step.change_node(input.node, "node.data_address_chosen",
                     [&](Node& changed) { changed.inventory.data_address = input.address; });
    step.planning_changed();
}

void handle(Step& step, const ShapesKnown& input) {
    if (step.state().shapes == input.shapes) return;
    step.change_shapes(input.shapes);
    step.planning_changed();
}

void handle(Step& step, const LinkDrifted& input) {
    const State& state = step.state();
    const std::pair ends{input.from, input.to};
    const bool known =
        find_node(state, input.from) != nullptr && find_node(state, input.to) != nullptr;
    // A repeated report changes nothing.
    if (!known || state.degraded_links.contains(ends) == input.degraded) return;
    step.change_links([&](auto& links) {
        if (input.degraded) {
            links[ends] = {input.baseline, input.now, step.now()};
        } else {
            links.erase(ends);
        }
    });
    const std::string what = input.degraded ? "link_degraded" : "link_restored";
    for (const std::string& subject : subjects_of(state, input)) {
        const std::string kind = subject.substr(0, subject.find('/'));
        step.note(format("{}.{}", kind, what), subject, fields_of(input));
    }
    step.planning_changed();
}

}  // namespace rm
