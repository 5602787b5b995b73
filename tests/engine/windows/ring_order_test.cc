#include "engine/windows/ring_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace rm {
namespace {

struct Ring {
    int size = 1;
    int inner = 1;
};

class RingOrders : public testing::TestWithParam<Ring> {
protected:
    static std::vector<RingOrder> orders() {
        std::vector<RingOrder> orders;
        for (int slot = 0; slot < GetParam().size; ++slot)
            orders.emplace_back(GetParam().size, GetParam().inner, slot);
        return orders;
    }
    static std::vector<int> all_blocks() {
        std::vector<int> blocks(static_cast<std::size_t>(GetParam().size));
        std::iota(blocks.begin(), blocks.end(), 0);
        return blocks;
    }
};

TEST_P(RingOrders, BringEverySlotOnceAndTheOwnFirst) {
    for (std::size_t slot = 0; slot < orders().size(); ++slot) {
        const RingOrder order = orders()[slot];
        std::vector<int> slots;
        for (int block = 0; block < order.num_blocks(); ++block)
            slots.push_back(static_cast<int>(order.slot(block)));
        EXPECT_EQ(slots[0], static_cast<int>(slot));
        EXPECT_THAT(slots, testing::UnorderedElementsAreArray(all_blocks()));
    }
}

// So a block moves one hop along one of the rings from rank to rank.
TEST_P(RingOrders, BringABlockOfTheRankBehind) {
    const std::vector<RingOrder> all = orders();
    const auto behind = [](int index, int size) { return (index + size - 1) % size; };
    for (const RingOrder& order : all) {
        const auto rank = [&](int outer, int inner) { return usize(outer * order.inner + inner); };
        const RingOrder& inner =
            all[rank(order.outer_index, behind(order.inner_index, order.inner))];
        const RingOrder& outer =
            all[rank(behind(order.outer_index, order.outer), order.inner_index)];
        for (int block = 1; block < order.num_blocks(); ++block) {
            if (order.step(block) > 0) {
                EXPECT_EQ(order.slot(block), inner.slot(block - 1));
            } else {
                EXPECT_EQ(order.slot(block), outer.slot(block - order.inner));
            }
        }
    }
}

TEST_P(RingOrders, GoBackwardsThroughTheOwnNodeLastAndTheStartOfARoundLast) {
    for (const RingOrder& order : orders()) {
        std::vector<int> blocks;
        for (int n = 0; n < order.num_blocks(); ++n)
            blocks.push_back(order.backward(n));
        EXPECT_EQ(blocks.back(), 0);
        EXPECT_THAT(blocks, testing::UnorderedElementsAreArray(all_blocks()));
        for (int n = 0; n < order.num_blocks(); ++n) {
            const int block = blocks[usize(n)];
            const bool ends_round = (n + 1) % order.inner == 0;
            EXPECT_EQ(order.step(block) == 0, ends_round) << "block " << n;
            EXPECT_EQ(order.round(block) == 0, n >= order.num_blocks() - order.inner);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(, RingOrders,
                         testing::Values(Ring{1, 1}, Ring{2, 2}, Ring{5, 5}, Ring{4, 2}, Ring{6, 3},
                                         Ring{6, 2}, Ring{3, 1}),
                         [](const auto& info) {
                             return "Inner" + std::to_string(info.param.inner) + "Of" +
                                    std::to_string(info.param.size);
                         });

TEST(RingOrder, IsDoubleOnlyWithSeveralSlotsInBothRings) {
    EXPECT_TRUE(RingOrder(4, 2, 0).is_double());
    EXPECT_FALSE(RingOrder(4, 4, 0).is_double());
    EXPECT_FALSE(RingOrder(4, 1, 0).is_double());
    EXPECT_EQ(RingOrder(4, 1, 0).inner, 4) << "one ring of all";
}

}  // namespace
}  // namespace rm
