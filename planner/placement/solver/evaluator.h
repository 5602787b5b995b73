#pragma once

#include <span>
#include <vector>

#include "planner/placement/problem.h"
#include "planner/placement/solver/lazy_max.h"

namespace rm {

struct RankMove {
    int rank = 0;
    Endpoint to;
};

constexpr Endpoint kNowhere = {-1, -1};

// placement_cost() kept up to date while ranks move: a move costs the flows of its ranks. Ranks may
// be nowhere; their flows do not count then. The score is a function of the placement alone, not of
// the way to it, and its time the very number of placement_cost().
class Evaluator {
public:
    Evaluator(const Routes& routes, const PlacementProblem& problem);

    // All ranks at once.
    void place(std::span<const Endpoint> placement);
    void move(std::span<const RankMove> moves);

    const std::vector<Endpoint>& placement() const { return placement_; }
    PlacementScore score();
    // Falls when any resource is relieved, the fullest counting most; tells placements of equal
    // time apart. Its last digits depend on the way here.
    double crowding() const { return crowding_; }
    // Makes the times that phases take now what crowding() measures their resources by, so that
    // each phase counts as it does in the score. Looks at all resources.
    void calibrate();

    int num_phases() const { return static_cast<int>(phases_.size()); }
    double phase_time(int phase);
    // The flows over the fullest resource of a phase, or the one with the slowest limit. Looks at
    // all of the phase.
    std::vector<Flow> bottleneck(int phase);

private:
    struct PhaseState {
        std::int64_t messages = 0;
        double weight = 1;  // in crowding, of the fourth power of a resource's time
        int first_flow = 0;
        int num_flows = 0;
        std::vector<std::int64_t> load;  // bytes by resource
        LazyMax fullest;                 // resources, by the time they take
        LazyMax slowest_flow;            // flows, by the time their limit takes
        LazyMax latency;                 // flows
    };
    struct FlowState {
        Flow flow;
        int phase = 0;
        double limit_time = 0;
        double latency = 0;
        std::int64_t link_time = 0;
        std::int64_t stamp = 0;
    };

    void add_phases(const PlacementProblem& problem);
    void collect(int rank);
    void remove(FlowState& state);
    void add(int index);
    double weight_of(const FlowState& state) const;
    void change_load(int phase, int resource, std::int64_t bytes);
    bool is_placed(const FlowState& state) const;
    Route route_of(const FlowState& state) const;
    LazyMax::Entry top_resource(PhaseState& phase);
    LazyMax::Entry top_limit(PhaseState& phase);
    double top_latency(PhaseState& phase);
    int unpreferred_at(Endpoint at) const;
    bool is_over(const FlowState& state, int resource) const;

    const Routes& routes_;
    std::vector<PhaseState> phases_;
    std::vector<FlowState> flows_;
    std::vector<int> incident_;        // flows by rank
    std::vector<int> incident_first_;  // where those of a rank begin; one more than ranks
    std::vector<Endpoint> placement_;
    std::vector<std::vector<char>> preferred_;  // by node and device; empty: all alike
    double crowding_ = 0;
    std::int64_t link_time_ = 0;
    int unpreferred_ = 0;
    std::int64_t num_moves_ = 0;
    // State of the current move.
    std::vector<int> changed_flows_;
    std::vector<std::pair<int, int>> changed_loads_;  // phase, resource
};

}  // namespace rm
