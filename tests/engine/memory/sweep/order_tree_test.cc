#include "engine/memory/sweep/order_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/random.h"

namespace rm {
namespace {

using Items = std::vector<int>;

std::set<Items> all_orders(int count) {
    Items items(static_cast<std::size_t>(count));
    std::iota(items.begin(), items.end(), 0);
    std::set<Items> orders;
    do
        orders.insert(items);
    while (std::next_permutation(items.begin(), items.end()));
    return orders;
}

bool lie_together(const Items& order, const Items& items) {
    const auto is_one = [&](int item) {
        return std::find(items.begin(), items.end(), item) != items.end();
    };
    const auto first = std::find_if(order.begin(), order.end(), is_one);
    return std::all_of(first, first + std::ssize(items), is_one);
}

Items random_items(Rng& rng, int count) {
    Items items;
    for (int item = 0; item < count; ++item) {
        if (rng.below(3) == 0) items.push_back(item);
    }
    return items;
}

// The key of each item: its place in the order.
std::vector<std::int64_t> keys_of(const Items& order) {
    std::vector<std::int64_t> keys(order.size());
    for (std::size_t place = 0; place < order.size(); ++place)
        keys[static_cast<std::size_t>(order[place])] = static_cast<std::int64_t>(place);
    return keys;
}

TEST(OrderTree, KeepsExactlyTheOrdersInWhichEverySetLiesTogether) {
    int num_impossible = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        const int count = 3 + static_cast<int>(rng.below(5));
        std::set<Items> orders = all_orders(count);
        OrderTree tree(*orders.begin());
        for (int i = 0; i < 6; ++i) {
            const Items items = random_items(rng, count);
            std::erase_if(orders, [&](const Items& order) { return !lie_together(order, items); });
            const bool possible = tree.join(items);
            ASSERT_EQ(possible, !orders.empty());
            if (!possible) ++num_impossible;
            if (!possible) break;
            EXPECT_NEAR(std::exp(tree.log_orders()), static_cast<double>(orders.size()), 0.1);
            for (const Items& order : orders)
                ASSERT_EQ(tree.order(keys_of(order)), order);
        }
    }
    EXPECT_GE(num_impossible, 30);
}

TEST(OrderTree, PutsOthersInThePlaceOfItems) {
    OrderTree tree(Items{0, 1, 2, 3});
    ASSERT_TRUE(tree.join(Items{1, 2}));
    ASSERT_TRUE(tree.join(Items{2, 3}));
    tree.replace(Items{1, 2}, Items{4, 5, 6});
    EXPECT_EQ(tree.num_items(), 5);
    // 3 lies beside them; they lie in any of six orders, 0 at either end.
    EXPECT_NEAR(std::exp(tree.log_orders()), 2 * 2 * 6, 1e-6);
    EXPECT_FALSE(tree.join(Items{0, 4}) && tree.join(Items{0, 5}) && tree.join(Items{0, 6}));
}

TEST(OrderTree, ListsNearItemsFirst) {
    OrderTree tree(Items{0, 1, 2, 3, 4, 5});
    ASSERT_TRUE(tree.join(Items{0, 1, 2, 3}));
    ASSERT_TRUE(tree.join(Items{0, 1, 2}));
    const OrderTree::Near near = tree.near(Items{0, 1});
    EXPECT_EQ(near.items, (Items{2, 3, 4, 5}));
    EXPECT_EQ(near.num_within, 1);
    EXPECT_EQ(tree.families(Items{0, 1, 3}), (std::vector<Items>{{0, 1}, {3, 0, 1}}));
}

}  // namespace
}  // namespace rm
