#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "planner/placement/solver/search.h"

namespace rm {
namespace {

// Whether exchanging two devices of an interior leaves all links and bridges the same.
bool are_alike(const NodeInterior& interior, int a, int b) {
    const auto swapped = [a, b](int device) { return device == a ? b : device == b ? a : device; };
    for (int from = 0; from < interior.num_devices; ++from) {
        for (int to = 0; to < interior.num_devices; ++to) {
            if (from != to &&
                interior.pair(from, to) != interior.pair(swapped(from), swapped(to))) {
                return false;
            }
        }
    }
    const auto has = [](const HostBridge& bridge, int device) {
        return std::find(bridge.devices.begin(), bridge.devices.end(), device) !=
               bridge.devices.end();
    };
    return std::all_of(interior.bridges.begin(), interior.bridges.end(),
                       [&](const HostBridge& bridge) { return has(bridge, a) == has(bridge, b); });
}

class BranchAndBound {
public:
    BranchAndBound(const PlacementProblem& problem, Evaluator& evaluator,
                   const DeviceTable& devices, std::int64_t budget,
                   const std::function<bool()>& cancelled)
        : evaluator_(evaluator),
          devices_(devices.usable()),
          used_(devices_.size(), false),
          twin_(devices_.size(), -1),
          num_ranks_(problem.mesh.num_ranks()),
          budget_(budget),
          cancelled_(cancelled) {
        find_twins(problem);
        find_rest(problem);
    }

    ExactResult run(const std::vector<Endpoint>& known) {
        evaluator_.place(known);
        best_ = {known, evaluator_.score(), true};
        evaluator_.place(std::vector<Endpoint>(known.size(), kNowhere));
        place_from(0);
        return best_;
    }

private:
    // Finds for each device the last earlier one that is equivalent and equally preferred.
    void find_twins(const PlacementProblem& problem) {
        const std::set<Endpoint> preferred(problem.preferred.begin(), problem.preferred.end());
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            for (std::size_t e = 0; e < d; ++e) {
                if (devices_[e].node == devices_[d].node &&
                    preferred.contains(devices_[e]) == preferred.contains(devices_[d]) &&
                    are_alike(problem.graph.interior_of(devices_[d].node), devices_[e].device,
                              devices_[d].device)) {
                    twin_[d] = static_cast<int>(e);
                }
            }
        }
    }
    // The least link time that ranks from the i-th on can add: all their flows on the fastest path.
    void find_rest(const PlacementProblem& problem) {
        const Routes routes(problem.graph);
        double fastest = 0;
        for (const Endpoint& from : devices_) {
            for (const Endpoint& to : devices_) {
                if (from != to) {
                    fastest = std::max(fastest, routes.alone(routes.route(from, to)));
                }
            }
        }
        rest_.assign(usize(num_ranks_) + 1, 0);
        for (const CommPhase& phase : problem.traffic) {
            for (const Flow& flow : flows_of(problem.mesh, phase)) {
                // Rounds down, because the evaluator rounds to the nearest unit.
                const double time = static_cast<double>(flow.bytes) / fastest * 1099511627776.0;
                rest_[usize(std::max(flow.from, flow.to))] +=
                    std::max<std::int64_t>(0, static_cast<std::int64_t>(time * (1 - 1e-12)) - 1);
            }
        }
        for (int rank = num_ranks_ - 1; rank >= 0; --rank)
            rest_[usize(rank)] += rest_[usize(rank) + 1];
    }

    // Lower bound of the cost, however the remaining ranks are placed.
    PlacementScore bound(int next) {
        PlacementScore score = evaluator_.score();
        score.link_time += rest_[usize(next)];
        return score;
    }

    bool is_over() {
        if (++evaluations_ > budget_) return true;
        return evaluations_ % 1024 == 0 && cancelled_ && cancelled_();
    }

    void place_from(int rank) {
        if (rank == num_ranks_) {
            best_.placement = evaluator_.placement();
            best_.score = evaluator_.score();
            return;
        }
        for (std::size_t d = 0; d < devices_.size() && best_.proved; ++d) {
            if (used_[d] || (twin_[d] >= 0 && !used_[usize(twin_[d])])) continue;
            if (is_over()) {
                best_.proved = false;
                return;
            }
            const RankMove move = {rank, devices_[d]};
            evaluator_.move({&move, 1});
            if (bound(rank + 1) < best_.score) {
                used_[d] = true;
                place_from(rank + 1);
                used_[d] = false;
            }
            const RankMove back = {rank, kNowhere};
            evaluator_.move({&back, 1});
        }
    }

    Evaluator& evaluator_;
    const std::vector<Endpoint>& devices_;
    std::vector<bool> used_;
    std::vector<int> twin_;
    std::vector<std::int64_t> rest_;
    int num_ranks_;
    std::int64_t budget_;
    std::int64_t evaluations_ = 0;
    const std::function<bool()>& cancelled_;
    ExactResult best_;
};

}  // namespace

ExactResult solve_exactly(const PlacementProblem& problem, Evaluator& evaluator,
                          const DeviceTable& devices, const std::vector<Endpoint>& known,
                          std::int64_t budget, const std::function<bool()>& cancelled) {
    return BranchAndBound(problem, evaluator, devices, budget, cancelled).run(known);
}

}  // namespace rm
