#include "engine/model/kept/layer_order.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace rm {
namespace {

// "4' 3 0+ 1' 0'": layer 0 again, then backward through 1 and 0.
std::string order(int num_layers, int every) {
    std::string text;
    for (const LayerVisit& visit : LayerGroups(num_layers, every).backward()) {
        const char* mark = visit.pass == LayerPass::again ? "+" : "'";
        text += format("{}{}{}", text.empty() ? "" : " ", visit.layer, mark);
    }
    return text;
}

TEST(LayerGroups, OfOneLayerRunNothingAgain) {
    EXPECT_EQ(order(3, 1), "2' 1' 0'");
}

TEST(LayerGroups, RunAllTheirLayersButTheLastAgain) {
    EXPECT_EQ(order(6, 2), "5' 4' 2+ 3' 2' 0+ 1' 0'");
    EXPECT_EQ(order(6, 3), "5' 4' 3' 0+ 1+ 2' 1' 0'");
}

TEST(LayerGroups, MayEndWithAShortOne) {
    EXPECT_EQ(order(5, 2), "4' 2+ 3' 2' 0+ 1' 0'");
    EXPECT_EQ(order(3, 8), "2' 1' 0'");
}

TEST(LayerGroups, KeepTheInputsOfTheirFirstAndAllOfTheLast) {
    const LayerGroups groups(6, 2);
    std::string inputs, all;
    for (int layer = 0; layer < 6; ++layer) {
        if (groups.keeps_input(layer)) inputs += format("{}", layer);
        if (groups.keeps_all(layer)) all += format("{}", layer);
    }
    EXPECT_EQ(inputs, "0245");
    EXPECT_EQ(all, "45");
}

}  // namespace
}  // namespace rm
