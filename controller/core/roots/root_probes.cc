#include <algorithm>

#include "controller/core/roots/questions.h"

namespace rm {
namespace {

const RootInfo* root_on(const Node& node, const std::string& name) {
    if (!node.session.up) return nullptr;
    const auto& roots = node.session.roots;
    const auto found = std::find_if(roots.begin(), roots.end(),
                                    [&](const RootInfo& root) { return root.name == name; });
    return found == roots.end() || !found->usable() ? nullptr : &*found;
}

bool may_write(const Node& node, const std::string& name, WallTime now) {
    const RootInfo* root = root_on(node, name);
    if (root == nullptr || !root->writable || node.session.places.contains(name)) return false;
    const auto failed = node.session.probe_failed.find(name);
    return failed == node.session.probe_failed.end() || now - failed->second > kProbeGivenUp;
}

// By root: the first node to write.
std::map<std::string, NodeId> writers(const State& state, WallTime now) {
    std::map<std::string, NodeId> writers;
    for (const NodeId& id : state.declaring) {
        const Node& node = state.nodes.at(id);
        for (const RootInfo& root : node.session.roots) {
            if (!state.probes.contains(root.name) && may_write(node, root.name, now)) {
                writers.try_emplace(root.name, id);
            }
        }
    }
    return writers;
}

void send(Step& step, const std::string& root, const RootProbe& probe) {
    for (const NodeId& node : probe.waiting)
        step.send(node, ProbeRoot{root, probe.nonce, probe.step});
}

// Later probes of this cluster have later times or a higher version: names are never reused.
std::string make_nonce(const Step& step) {
    return format("{}-{}-{}", step.state().cluster, step.now().micros, step.state().version);
}

void begin(Step& step, const std::string& root, const NodeId& writer) {
    RootProbe probe{.nonce = make_nonce(step), .writer = writer, .began = step.steady()};
    probe.asked = step.steady();
    probe.waiting = {writer};
    send(step, root, probe);
    step.change_probes([&](auto& probes) { probes[root] = probe; });
}

void set_places(Step& step, const std::string& root, const RootProbe& probe) {
    std::set<std::string> known;
    for (const NodeId& id : probe.seen) {
        const auto& places = find_node(step.state(), id)->session.places;
        if (const auto place = places.find(root); place != places.end()) {
            known.insert(place->second);
        }
    }
    const std::string place = known.empty() ? probe.nonce : *known.begin();
    std::vector<NodeId> members;
    for (const NodeId& id : step.state().declaring) {
        const Node& node = step.state().nodes.at(id);
        const auto has = node.session.places.find(root);
        const bool joined = has != node.session.places.end() && known.contains(has->second);
        if (joined || probe.seen.contains(id)) members.push_back(id);
    }
    for (const NodeId& id : members)
        step.change_session(id, [&](NodeSession& session) { session.places[root] = place; });
}

// Nodes that did not answer could not be compared with the writer; probe them again later.
void forget_places(Step& step, const std::string& root, const std::set<NodeId>& silent) {
    for (const NodeId& id : silent)
        step.change_session(id, [&](NodeSession& session) { session.places.erase(root); });
}

void conclude(Step& step, const std::string& root, RootProbe probe) {
    set_places(step, root, probe);
    forget_places(step, root, probe.waiting);
    step.send(probe.writer, ProbeRoot{root, probe.nonce, ProbeStep::remove});
    step.change_probes([&](auto& probes) { probes.erase(root); });
    step.planning_changed();
}

void give_up(Step& step, const std::string& root, const NodeId& writer) {
    step.change_probes([&](auto& probes) { probes.erase(root); });
    const Node* node = find_node(step.state(), writer);
    if (node == nullptr || !node->session.up) return;
    step.change_session(writer,
                        [&](NodeSession& session) { session.probe_failed[root] = step.steady(); });
    step.planning_changed();
}

void let_others_look(Step& step, const std::string& root, RootProbe probe) {
    probe.step = ProbeStep::look;
    probe.asked = step.steady();
    probe.waiting.clear();
    probe.seen = {probe.writer};
    for (const NodeId& id : step.state().declaring) {
        const bool has = root_on(*find_node(step.state(), id), root) != nullptr;
        if (id != probe.writer && has) probe.waiting.insert(id);
    }
    if (probe.waiting.empty()) return conclude(step, root, std::move(probe));
    send(step, root, probe);
    step.change_probes([&](auto& probes) { probes[root] = probe; });
}

// Reacts to ended sessions and to passed time.
void tend(Step& step, const std::string& root) {
    RootProbe probe = step.state().probes.at(root);
    const auto gone = [&](const NodeId& id) {
        return root_on(*find_node(step.state(), id), root) == nullptr;
    };
    if (gone(probe.writer)) return give_up(step, root, probe.writer);
    std::erase_if(probe.waiting, gone);
    std::erase_if(probe.seen, gone);
    const bool late = step.steady() - probe.began > kProbeGivenUp;
    if (probe.step == ProbeStep::write && late) return give_up(step, root, probe.writer);
    if (probe.step == ProbeStep::look && (late || probe.waiting.empty())) {
        return conclude(step, root, std::move(probe));
    }
    if (step.steady() - probe.asked > kProbeRepeated) {
        probe.asked = step.steady();
        send(step, root, probe);
    }
    step.change_probes([&](auto& probes) { probes[root] = probe; });
}

}  // namespace

bool probes_due(const State& state, WallTime now) {
    const bool late = std::any_of(state.probes.begin(), state.probes.end(), [&](const auto& entry) {
        return now - entry.second.asked > kProbeRepeated ||
               now - entry.second.began > kProbeGivenUp;
    });
    return late || !writers(state, now).empty();
}

void tend_probes(Step& step) {
    std::vector<std::string> roots;
    for (const auto& [root, probe] : step.state().probes)
        roots.push_back(root);
    for (const std::string& root : roots)
        tend(step, root);
    for (const auto& [root, writer] : writers(step.state(), step.steady()))
        begin(step, root, writer);
}

void forget_answers(Step& step, const NodeId& node, const std::vector<std::string>& roots) {
    step.change_probes([&](auto& probes) {
        for (const std::string& root : roots) {
            const auto probe = probes.find(root);
            if (probe == probes.end()) continue;
            probe->second.waiting.erase(node);
            probe->second.seen.erase(node);
            // No node can see the writer's file any more: start another probe.
            if (probe->second.writer == node) probes.erase(probe);
        }
    });
}

void handle(Step& step, const NodeRootProbed& input) {
    const NodeId& node = input.node;
    const RootProbed& probed = input.probed;
    const auto known = step.state().probes.find(probed.root);
    if (known == step.state().probes.end()) return;
    RootProbe probe = known->second;
    const bool awaited = probe.nonce == probed.nonce && probe.step == probed.step;
    if (!awaited || probe.waiting.erase(node) == 0) return;
    if (probed.step == ProbeStep::write) {
        if (!probed.problem.empty()) {
            give_up(step, probed.root, node);
        } else {
            let_others_look(step, probed.root, std::move(probe));
        }
    } else {
        if (probed.found) probe.seen.insert(node);
        step.change_probes([&](auto& probes) { probes[probed.root] = probe; });
    }
    tend_probes(step);
}

}  // namespace rm
