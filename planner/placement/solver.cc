#include "planner/placement/solver.h"

#include <algorithm>
#include <numeric>

#include "base/words.h"
#include "planner/placement/solver/construct.h"
#include "planner/placement/solver/search.h"

namespace rm {
namespace {

// Branch and bound runs on at most this many devices; the budget ends it if bounds are weak.
constexpr std::size_t kMostExactDevices = 16;
constexpr std::int64_t kFirstSearch = 300;
constexpr std::int64_t kLeastBudget = 2'000;
// The default budget allows about this many changes of flows.
constexpr std::int64_t kFlowChanges = 500'000;

std::vector<Endpoint> in_order(const PlacementProblem& problem, const std::vector<int>& nodes) {
    return fill(DeviceTable(problem), nodes, problem.mesh.num_ranks(), 1);
}

std::vector<int> all_nodes(const LinkGraph& graph) {
    std::vector<int> nodes(usize(graph.num_nodes()));
    std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
}

std::optional<std::vector<Endpoint>> if_complete(std::vector<Endpoint> placement,
                                                 const Mesh& mesh) {
    if (static_cast<int>(placement.size()) != mesh.num_ranks()) return std::nullopt;
    return placement;
}

Status check_endpoints(const LinkGraph& graph, const std::vector<Endpoint>& devices,
                       std::string_view what) {
    for (const Endpoint& at : devices) {
        if (at.node < 0 || at.node >= graph.num_nodes() || at.device < 0 ||
            at.device >= graph.num_devices(at.node)) {
            return invalid_argument("a {} device is number {} of node number {}; it is not there",
                                    what, at.device, at.node);
        }
    }
    return {};
}

Status check_problem(const PlacementProblem& problem) {
    RM_RETURN_IF_ERROR(validate(problem.graph));
    RM_RETURN_IF_ERROR(validate(problem.traffic));
    RM_RETURN_IF_ERROR(check_endpoints(problem.graph, problem.forbidden, "forbidden"));
    RM_RETURN_IF_ERROR(check_endpoints(problem.graph, problem.preferred, "preferred"));
    const auto usable = static_cast<int>(DeviceTable(problem).usable().size());
    const int wanted = problem.mesh.num_ranks();
    if (usable >= wanted) return {};
    return make_error(
        ErrorCode::resource_exhausted, "the mesh {} needs {}, {} of {} may be used; {} {} missing",
        to_string(problem.mesh), counted(wanted, "device"), usable, problem.graph.num_devices(),
        wanted - usable, wanted - usable == 1 ? "is" : "are");
}

class Solver {
public:
    Solver(const PlacementProblem& problem, const SolveOptions& options)
        : problem_(problem),
          options_(options),
          routes_(problem.graph),
          devices_(problem),
          evaluator_(routes_, problem) {}

    Solution solve() {
        Solution solution;
        solution.registration = *registration_order(problem_);
        solution.by_node = *node_order(problem_);
        consider(solution.registration);
        consider(solution.by_node);
        for (const std::vector<Endpoint>& start :
             construct_placements(problem_, routes_, devices_)) {
            consider(start);
        }
        consider(order_inside_nodes(problem_, best_, options_.seed));
        prove(solution);
        if (!solution.optimal && !solution.cancelled) search(solution, budget());
        solution.placement = best_;
        solution.cost = cost_of(solution.placement);
        solution.registration_cost = cost_of(solution.registration);
        solution.by_node_cost = cost_of(solution.by_node);
        return solution;
    }

private:
    PlacementCost cost_of(const std::vector<Endpoint>& placement) const {
        return placement_cost(routes_, problem_.mesh, problem_.traffic, placement);
    }

    // Among equally good placements the first one stays.
    void consider(const std::vector<Endpoint>& placement) {
        evaluator_.place(placement);
        const PlacementScore score = evaluator_.score();
        if (!best_.empty() && !(score < score_)) return;
        best_ = placement;
        score_ = score;
    }

    std::int64_t budget() const {
        if (options_.budget > 0) return options_.budget;
        std::int64_t flows = 0;
        for (const CommPhase& phase : problem_.traffic)
            flows += static_cast<std::int64_t>(flows_of(problem_.mesh, phase).size());
        const std::int64_t ranks = problem_.mesh.num_ranks();
        const std::int64_t block = std::max(1, problem_.graph.num_devices(0));
        const std::int64_t per_move = std::max<std::int64_t>(1, 2 * block * flows / ranks);
        return std::max(kLeastBudget, kFlowChanges / per_move);
    }

    void search(Solution& solution, std::int64_t budget) {
        evaluator_.place(best_);
        const SearchLimits limits = {options_.seed, budget, options_.cancelled};
        const SolverResult found = search_locally(problem_, evaluator_, devices_, limits);
        consider(found.placement);
        solution.evaluations += found.evaluations;
        solution.cancelled = found.cancelled;
    }

    // Searches briefly first, to give branch and bound a good placement to beat.
    void prove(Solution& solution) {
        if (options_.exact_budget <= 0 || devices_.usable().size() > kMostExactDevices) return;
        search(solution, std::min(kFirstSearch, budget()));
        if (solution.cancelled) return;
        const ExactResult exact = solve_exactly(problem_, evaluator_, devices_, best_,
                                                options_.exact_budget, options_.cancelled);
        best_ = exact.placement;
        score_ = exact.score;
        solution.optimal = exact.proved;
        solution.cancelled = options_.cancelled && !exact.proved && options_.cancelled();
    }

    const PlacementProblem& problem_;
    const SolveOptions& options_;
    const Routes routes_;
    const DeviceTable devices_;
    Evaluator evaluator_;
    std::vector<Endpoint> best_;
    PlacementScore score_;
};

Status check_not_worse(const PlacementCost& cost, const PlacementCost& baseline,
                       std::string_view name) {
    if (cost.total <= baseline.total) return {};
    return make_error(ErrorCode::internal, "the placement takes {}, {} takes {}", cost.total, name,
                      baseline.total);
}

}  // namespace

std::optional<std::vector<Endpoint>> registration_order(const PlacementProblem& problem) {
    return if_complete(in_order(problem, all_nodes(problem.graph)), problem.mesh);
}

std::optional<std::vector<Endpoint>> node_order(const PlacementProblem& problem) {
    std::vector<int> nodes = all_nodes(problem.graph);
    std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) {
        return name_before(problem.graph.nodes[usize(a)].id.value,
                           problem.graph.nodes[usize(b)].id.value);
    });
    return if_complete(in_order(problem, nodes), problem.mesh);
}

Result<Solution> solve_placement(const PlacementProblem& problem, const SolveOptions& options) {
    RM_RETURN_IF_ERROR(check_problem(problem));
    return Solver(problem, options).solve();
}

Status check_solution(const PlacementProblem& problem, const Solution& solution) {
    RM_RETURN_IF_ERROR(
        check_placement(problem.graph, problem.mesh, solution.placement, problem.forbidden));
    const Routes routes(problem.graph);
    const PlacementCost cost =
        placement_cost(routes, problem.mesh, problem.traffic, solution.placement);
    if (cost.total != solution.cost.total) {
        return make_error(ErrorCode::internal,
                          "the search claims that the placement takes {}, it takes {}",
                          solution.cost.total, cost.total);
    }
    RM_RETURN_IF_ERROR(check_not_worse(cost, solution.registration_cost, "registration order"));
    return check_not_worse(cost, solution.by_node_cost, "node order");
}

}  // namespace rm
