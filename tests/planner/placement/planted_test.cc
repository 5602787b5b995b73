#include "bench/placement/planted.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/placement/solver.h"

// `ring-bench placement` does the same with 1,024 nodes and measures the time.
namespace rm {
namespace {

class PlantedPlacement : public testing::TestWithParam<Planted> {
protected:
    static Solution solve(const PlantedProblem& planted) {
        const PlacementProblem problem{planted.graph, planted.mesh, planted.traffic};
        const auto solution = solve_placement(problem, {.seed = 7, .budget = 200});
        EXPECT_TRUE(solution) << solution.error().message;
        const Status valid = check_solution(problem, *solution);
        EXPECT_TRUE(valid) << valid.error().message;
        return *solution;
    }
};

TEST_P(PlantedPlacement, IsAsFastAsTheHiddenOne) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        const PlantedProblem planted = plant(GetParam(), 128, seed);
        const Solution solution = solve(planted);
        const double hidden =
            placement_cost(Routes(planted.graph), planted.mesh, planted.traffic, planted.hidden)
                .total.value;
        EXPECT_LE(solution.cost.total.value, 1.02 * hidden) << "seed " << seed;
        EXPECT_LT(hidden, solution.registration_cost.total.value / 1.5) << "it is hidden well";
        EXPECT_LT(hidden, solution.by_node_cost.total.value / 1.5) << "it is hidden well";
    }
}

TEST_P(PlantedPlacement, IsTheSameEveryTime) {
    const PlantedProblem planted = plant(GetParam(), 64, 5);
    const Solution first = solve(planted);
    const Solution second = solve(planted);
    EXPECT_EQ(first.placement, second.placement);
    EXPECT_EQ(first.evaluations, second.evaluations);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PlantedPlacement, testing::ValuesIn(kPlanted),
                         [](const testing::TestParamInfo<Planted>& info) {
                             std::string name(to_string(info.param));
                             std::replace(name.begin(), name.end(), ' ', '_');
                             return name;
                         });

}  // namespace
}  // namespace rm
