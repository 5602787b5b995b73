#include "planner/placement/planted.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/placement/solver.h"

// `ring-bench placement` does the same with 1,024 nodes and takes the time.
namespace rm {
namespace {

class PlantedPlacement : public testing::TestWithParam<Planted> {
protected:
    const PlantedProblem planted_ = plant(GetParam(), 128, 1);
    const PlacementProblem problem_{planted_.graph, planted_.mesh, planted_.traffic};
};

TEST_P(PlantedPlacement, IsAsFastAsTheHiddenOneAndTheSameEveryTime) {
    const auto first = solve_placement(problem_, {.seed = 7, .budget = 400});
    ASSERT_TRUE(first) << first.error().message;
    const Status valid = check_solution(problem_, *first);
    ASSERT_TRUE(valid) << valid.error().message;
    const double hidden =
        placement_cost(Routes(planted_.graph), planted_.mesh, planted_.traffic, planted_.hidden)
            .total.value;
    EXPECT_LE(first->cost.total.value, 1.02 * hidden);
    EXPECT_LT(hidden, first->registration_cost.total.value / 1.5) << "it is hidden well";

    const auto second = solve_placement(problem_, {.seed = 7, .budget = 400});
    EXPECT_EQ(first->placement, second->placement);
    EXPECT_EQ(first->evaluations, second->evaluations);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PlantedPlacement, testing::ValuesIn(kPlanted),
                         [](const testing::TestParamInfo<Planted>& info) {
                             std::string name(to_string(info.param));
                             std::replace(name.begin(), name.end(), ' ', '_');
                             return name;
                         });

}  // namespace
}  // namespace rm
