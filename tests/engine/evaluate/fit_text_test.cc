#include "engine/evaluate/fit_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/usize.h"

namespace rm {
namespace {

TEST(LargestAmount, IsTheLastThatFitsOfSizesThatGrowUnevenly) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        Rng random(seed);
        std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(random.below(50))};
        while (sizes.size() < 5000)
            sizes.push_back(sizes.back() + static_cast<std::int64_t>(random.below(9)));
        const auto limit = static_cast<std::int64_t>(random.below(10'000));
        const auto least = static_cast<std::int64_t>(random.below(5));
        int texts = 0;
        const auto size_of = [&](std::int64_t amount) -> Result<std::int64_t> {
            ++texts;
            return sizes.at(usize(amount));
        };
        const auto found = largest_amount(least, limit, size_of).value();
        const auto above = std::ranges::upper_bound(sizes, limit) - sizes.begin();
        if (sizes[usize(least)] > limit) {
            EXPECT_FALSE(found);
            continue;
        }
        EXPECT_EQ(found.value(), above - 1);
        EXPECT_LE(texts, 30);
    }
}

TEST(LargestAmount, MakesFewTextsAndNoneMuchLongerThanTheLimit) {
    constexpr std::int64_t kLimit = 1 << 20;
    int texts = 0;
    std::int64_t longest = 0;
    const auto size_of = [&](std::int64_t amount) -> Result<std::int64_t> {
        ++texts;
        longest = std::max(longest, 100 + 18 * amount);
        return 100 + 18 * amount;
    };
    EXPECT_EQ(largest_amount(0, kLimit, size_of).value().value(), (kLimit - 100) / 18);
    EXPECT_LE(texts, 18);
    EXPECT_LE(longest, 2 * kLimit + 1000);
}

TEST(LargestAmount, PassesAnErrorOn) {
    const auto size_of = [](std::int64_t amount) -> Result<std::int64_t> {
        if (amount > 20) return invalid_argument("no");
        return amount;
    };
    EXPECT_FALSE(largest_amount(0, 100, size_of).ok());
}

}  // namespace
}  // namespace rm
