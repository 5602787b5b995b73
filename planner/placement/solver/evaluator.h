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

// Keeps placement_cost() up to date while ranks move: the work of a move is proportional to the
// flows of its ranks. Flows of unplaced ranks (kNowhere) do not count. The score depends on the
// placement alone, not on earlier moves; its time is exactly that of placement_cost().
class Evaluator {
public:
    Evaluator(const Routes& routes, const PlacementProblem& problem);

    // Places all ranks at once.
    void place(std::span<const Endpoint> placement);
    void move(std::span<const RankMove> moves);

    const std::vector<Endpoint>& placement() const { return placement_; }
    PlacementScore score();
    // Falls when the load on any resource falls, most for the fullest; ranks placements of equal
    // time. Its last digits depend on earlier moves.
    double crowding() const { return crowding_; }
    // Normalizes crowding() by the current times of the phases, so that each phase counts as it
    // does in the score. Scans all resources.
    void calibrate();

    int num_phases() const { return static_cast<int>(phases_.size()); }
    double phase_time(int phase);  // what counts of it
    // The flows over the fullest resource of a phase, or the flow with the slowest limit. Scans all
    // flows of the phase.
    std::vector<Flow> bottleneck(int phase);

private:
    struct PhaseState {
        std::int64_t messages = 0;
        double hidden = 0;
        double weight = 1;  // in crowding, of the fourth power of a resource's time
        int first_flow = 0;
        int num_flows = 0;
        std::vector<std::int64_t> load;  // bytes by resource
        LazyMax fullest;                 // resources, by their time
        LazyMax slowest_flow;            // flows, by their time at their limit
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
    std::vector<int> incident_first_;  // index of a rank's first flow; ranks + 1 entries
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
