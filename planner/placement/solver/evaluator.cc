#include "planner/placement/solver/evaluator.h"

#include <cmath>

namespace rm {
namespace {

constexpr double kLinkTimeUnits = 1099511627776.0;  // 2^40

double fourth_power(double x) {
    return x * x * x * x;
}

}  // namespace

Evaluator::Evaluator(const Routes& routes, const PlacementProblem& problem) : routes_(routes) {
    const auto num_ranks = usize(problem.mesh.num_ranks());
    placement_.assign(num_ranks, kNowhere);
    add_phases(problem);
    incident_first_.assign(num_ranks + 1, 0);
    for (const FlowState& state : flows_) {
        ++incident_first_[usize(state.flow.from) + 1];
        ++incident_first_[usize(state.flow.to) + 1];
    }
    for (std::size_t rank = 0; rank < num_ranks; ++rank)
        incident_first_[rank + 1] += incident_first_[rank];
    incident_.resize(2 * flows_.size());
    std::vector<int> next = incident_first_;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
        for (const int rank : {flows_[f].flow.from, flows_[f].flow.to}) {
            const int slot = next[usize(rank)]++;
            incident_[usize(slot)] = static_cast<int>(f);
        }
    }
    if (problem.preferred.empty()) return;
    for (int node = 0; node < problem.graph.num_nodes(); ++node)
        preferred_.emplace_back(usize(problem.graph.num_devices(node)), 0);
    for (const Endpoint& at : problem.preferred)
        preferred_[usize(at.node)][usize(at.device)] = 1;
}

void Evaluator::add_phases(const PlacementProblem& problem) {
    for (const CommPhase& phase : problem.traffic) {
        PhaseState& state = phases_.emplace_back();
        state.messages = phase.messages;
        state.hidden = phase.hidden.value;
        state.first_flow = static_cast<int>(flows_.size());
        state.load.assign(usize(routes_.num_resources()), 0);
        for (const Flow& flow : flows_of(problem.mesh, phase))
            flows_.push_back({flow, static_cast<int>(phases_.size()) - 1});
        state.num_flows = static_cast<int>(flows_.size()) - state.first_flow;
    }
}

void Evaluator::place(std::span<const Endpoint> placement) {
    std::vector<RankMove> moves;
    for (std::size_t rank = 0; rank < placement.size(); ++rank) {
        if (placement_[rank] != placement[rank]) {
            moves.push_back({static_cast<int>(rank), placement[rank]});
        }
    }
    move(moves);
}

bool Evaluator::is_placed(const FlowState& state) const {
    return placement_[usize(state.flow.from)] != kNowhere &&
           placement_[usize(state.flow.to)] != kNowhere;
}

Route Evaluator::route_of(const FlowState& state) const {
    return routes_.route(placement_[usize(state.flow.from)], placement_[usize(state.flow.to)]);
}

void Evaluator::collect(int rank) {
    const auto at = usize(rank);
    for (int i = incident_first_[at]; i < incident_first_[at + 1]; ++i) {
        const int index = incident_[usize(i)];
        FlowState& state = flows_[usize(index)];
        if (state.stamp == num_moves_) continue;
        state.stamp = num_moves_;
        changed_flows_.push_back(index);
    }
}

void Evaluator::calibrate() {
    crowding_ = 0;
    for (PhaseState& phase : phases_) {
        const double time = std::max(top_limit(phase).value, top_resource(phase).value);
        // A time t counts time * (t / time)^4.
        phase.weight = time > 0 ? 1 / (time * time * time) : 0;
        for (int r = 0; r < routes_.num_resources(); ++r) {
            const std::int64_t load = phase.load[usize(r)];
            if (load == 0) continue;
            crowding_ += phase.weight *
                         fourth_power(static_cast<double>(load) * routes_.seconds_per_byte(r));
        }
    }
    for (const FlowState& flow : flows_)
        crowding_ += weight_of(flow) * fourth_power(flow.limit_time);
}

double Evaluator::weight_of(const FlowState& state) const {
    return phases_[usize(state.phase)].weight;
}

void Evaluator::change_load(int phase, int resource, std::int64_t bytes) {
    PhaseState& state = phases_[usize(phase)];
    std::int64_t& load = state.load[usize(resource)];
    const double per_byte = routes_.seconds_per_byte(resource);
    const double before = fourth_power(static_cast<double>(load) * per_byte);
    load += bytes;
    crowding_ += state.weight * (fourth_power(static_cast<double>(load) * per_byte) - before);
    changed_loads_.emplace_back(phase, resource);
}

void Evaluator::remove(FlowState& state) {
    if (!is_placed(state)) return;
    route_of(state).for_each([&](int r) { change_load(state.phase, r, -state.flow.bytes); });
    crowding_ -= weight_of(state) * fourth_power(state.limit_time);
    link_time_ -= state.link_time;
    state.link_time = 0;
    state.limit_time = state.latency = 0;
}

void Evaluator::add(int index) {
    FlowState& state = flows_[usize(index)];
    if (!is_placed(state)) return;
    const Route route = route_of(state);
    double slowest = 1 / route.flow;
    route.for_each([&](int r) {
        change_load(state.phase, r, state.flow.bytes);
        slowest = std::max(slowest, routes_.seconds_per_byte(r));
    });
    const auto bytes = static_cast<double>(state.flow.bytes);
    state.limit_time = bytes / route.flow;
    state.latency = route.latency;
    state.link_time = std::llround(bytes * slowest * kLinkTimeUnits);
    link_time_ += state.link_time;
    crowding_ += weight_of(state) * fourth_power(state.limit_time);
    PhaseState& phase = phases_[usize(state.phase)];
    if (state.limit_time > 0) phase.slowest_flow.push(state.limit_time, index);
    if (state.latency > 0) phase.latency.push(state.latency, index);
}

int Evaluator::unpreferred_at(Endpoint at) const {
    if (preferred_.empty() || at == kNowhere) return 0;
    return preferred_[usize(at.node)][usize(at.device)] == 0;
}

void Evaluator::move(std::span<const RankMove> moves) {
    ++num_moves_;
    changed_flows_.clear();
    changed_loads_.clear();
    for (const RankMove& m : moves)
        collect(m.rank);
    for (const int index : changed_flows_)
        remove(flows_[usize(index)]);
    for (const RankMove& m : moves) {
        Endpoint& at = placement_[usize(m.rank)];
        unpreferred_ += unpreferred_at(m.to) - unpreferred_at(at);
        at = m.to;
    }
    for (const int index : changed_flows_)
        add(index);
    for (const auto& [phase, r] : changed_loads_) {
        PhaseState& state = phases_[usize(phase)];
        const std::int64_t load = state.load[usize(r)];
        if (load > 0) {
            state.fullest.push(static_cast<double>(load) * routes_.seconds_per_byte(r), r);
        }
    }
}

LazyMax::Entry Evaluator::top_resource(PhaseState& phase) {
    return phase.fullest.top([&](int r) {
        return static_cast<double>(phase.load[usize(r)]) * routes_.seconds_per_byte(r);
    });
}

LazyMax::Entry Evaluator::top_limit(PhaseState& phase) {
    return phase.slowest_flow.top([&](int f) { return flows_[usize(f)].limit_time; });
}

double Evaluator::top_latency(PhaseState& phase) {
    return phase.latency.top([&](int f) { return flows_[usize(f)].latency; }).value;
}

double Evaluator::phase_time(int phase) {
    PhaseState& state = phases_[usize(phase)];
    const double time = std::max(top_limit(state).value, top_resource(state).value) +
                        static_cast<double>(state.messages) * top_latency(state);
    return std::max(0.0, time - state.hidden);
}

PlacementScore Evaluator::score() {
    PlacementScore score{0, unpreferred_, link_time_};
    for (int phase = 0; phase < num_phases(); ++phase)
        score.time += phase_time(phase);
    return score;
}

bool Evaluator::is_over(const FlowState& state, int resource) const {
    bool over = false;
    if (is_placed(state)) route_of(state).for_each([&](int r) { over = over || r == resource; });
    return over;
}

std::vector<Flow> Evaluator::bottleneck(int phase) {
    PhaseState& state = phases_[usize(phase)];
    const LazyMax::Entry resource = top_resource(state);
    const LazyMax::Entry limit = top_limit(state);
    if (limit.value > resource.value) return {flows_[usize(limit.key)].flow};
    std::vector<Flow> over;
    if (resource.key < 0) return over;
    for (int f = state.first_flow; f < state.first_flow + state.num_flows; ++f) {
        const FlowState& flow = flows_[usize(f)];
        if (is_over(flow, resource.key)) over.push_back(flow.flow);
    }
    return over;
}

}  // namespace rm
