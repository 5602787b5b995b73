#include "controller/loops/discovery_loop.h"

#include <algorithm>

namespace rm {
namespace {

constexpr Seconds kLongestPause{300};

std::map<NodeId, std::string> shapes_of(const Matches& matches) {
    std::map<NodeId, std::string> shapes;
    for (const auto& [node, machine] : matches) {
        if (!machine.shape.empty()) shapes[node] = machine.shape;
    }
    return shapes;
}

}  // namespace

DiscoveryLoop::DiscoveryLoop(const DiscoveryOptions& options, ControlLoop& control,
                             const Clock& clock)
    : provider_(options.provider ? options.provider() : nullptr),
      every_(options.every),
      command_(options.command),
      control_(control),
      clock_(clock),
      pause_(options.every),
      loop_([this](const std::stop_token& stop) { return look(stop); }) {}

Seconds DiscoveryLoop::look(const std::stop_token& stop) {
    if (!provider_) return Loop::kUntilWoken;
    auto machines = provider_->list(stop);
    if (!machines) return after_failure(machines.error());
    failed_.over();
    pause_ = every_;
    keep(*std::move(machines));
    return every_;
}

void DiscoveryLoop::keep(std::vector<Machine> machines) {
    const std::vector<NodeFacts> known = nodes();
    const std::lock_guard lock(mutex_);
    matches_ = matches_of(reconcile(machines, known, matches_));
    machines_ = std::move(machines);
    problem_.clear();
    control_.post(ShapesKnown{shapes_of(matches_)});
}

Seconds DiscoveryLoop::after_failure(const Error& error) {
    if (error.code == ErrorCode::cancelled) return every_;
    failed_.came(LogLevel::warning, error.message, clock_.mono());
    const std::lock_guard lock(mutex_);
    problem_ = error.message;
    pause_ = std::max(every_, std::min(pause_ + pause_, kLongestPause));
    return pause_;
}

// Nodes that an administrator has called gone have left their machines.
std::vector<NodeFacts> DiscoveryLoop::nodes() const {
    return control_.read([](const State& state) {
        std::vector<NodeFacts> facts;
        for (const auto& entry : state.nodes) {
            const Node& node = entry.second;
            if (node.state == NodeState::gone) continue;
            facts.push_back({node.id, node.inventory.hostname, node.inventory.data_address});
        }
        return facts;
    });
}

MachinesView DiscoveryLoop::view() const {
    MachinesView view;
    if (!provider_) return view;
    const std::vector<NodeFacts> known = nodes();
    view.provider = provider_->name();
    view.command = command_;
    const std::lock_guard lock(mutex_);
    view.rows = reconcile(machines_, known, matches_);
    view.problem = problem_;
    return view;
}

}  // namespace rm
