#include "engine/checkpoint/slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/checkpoint/sample_state.h"

namespace rm {
namespace {

using testing::HasSubstr;

Slice random_tensor_slice(Rng& rng) {
    std::vector<std::int64_t> shape(rng.below(4));
    for (std::int64_t& size : shape)
        size = 1 + static_cast<std::int64_t>(rng.below(6));
    return random_slice(whole_tensor("t", DType::f32, shape), rng);
}

TEST(Slice, CutsIntoRunsThatCoverItsElementsInOrder) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        Rng rng(seed);
        const Slice slice = random_tensor_slice(rng);
        ASSERT_TRUE(check_slice(slice)) << to_string(slice);
        std::vector<std::int64_t> elements;
        for (RunCursor run(slice); !run.done(); run.advance()) {
            ASSERT_EQ(run.current().in_slice, static_cast<std::int64_t>(elements.size()));
            for (std::int64_t i = 0; i < run.current().count; ++i) {
                elements.push_back(run.current().in_tensor + i);
            }
        }
        EXPECT_EQ(elements, elements_of(slice)) << "seed " << seed << ": " << to_string(slice);
    }
}

TEST(Slice, OverlapsAnotherInExactlyTheirCommonElements) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        Rng rng(seed);
        const Slice a = random_tensor_slice(rng);
        const Slice b = random_slice(whole_tensor("t", DType::f32, a.shape), rng);
        const auto in_a = elements_of(a);
        const auto in_b = elements_of(b);
        std::vector<std::int64_t> expected;
        std::set_intersection(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                              std::back_inserter(expected));
        std::vector<std::int64_t> common;
        ASSERT_TRUE(for_each_overlap(a, b, [&](auto first_a, auto first_b, auto count) {
            for (std::int64_t i = 0; i < count; ++i) {
                EXPECT_EQ(in_a.at(static_cast<std::size_t>(first_a + i)),
                          in_b.at(static_cast<std::size_t>(first_b + i)));
                common.push_back(in_a.at(static_cast<std::size_t>(first_a + i)));
            }
            return Status();
        }));
        EXPECT_EQ(common, expected)
            << "seed " << seed << ": " << to_string(a) << " and " << to_string(b);
    }
}

TEST(Slice, AnUnevenSplitGivesTheFirstPartsOneMore) {
    Slice slice = whole_tensor("t", DType::f32, {7, 2});
    slice.split_count = 3;
    std::vector<std::int64_t> elements;
    for (slice.split_index = 0; slice.split_index < 3; ++slice.split_index) {
        elements.push_back(part_elements(slice));
    }
    EXPECT_THAT(elements, testing::ElementsAre(6, 4, 4));
}

TEST(Slice, RefusesWhatCannotBe) {
    const Slice good = whole_tensor("t", DType::f32, {4, 6});
    const auto refused = [&](auto change) {
        Slice slice = good;
        change(slice);
        return !check_slice(slice);
    };
    constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
    EXPECT_TRUE(check_slice(good));
    EXPECT_TRUE(check_slice(whole_tensor("scalar", DType::f32, {})));
    EXPECT_TRUE(refused([](Slice& s) { s.tensor = ""; }));
    EXPECT_TRUE(refused([](Slice& s) { s.tensor = "__metadata__"; }));
    EXPECT_TRUE(refused([](Slice& s) { s.tensor = "a b"; }));
    EXPECT_TRUE(refused([](Slice& s) { s.tensor = "\xff"; }));
    EXPECT_TRUE(refused([](Slice& s) { s.shape = {0, 6}; }));
    EXPECT_TRUE(refused([](Slice& s) { s.shape = {-4, -6}; }));
    EXPECT_TRUE(refused([](Slice& s) { s.shape = {kHuge, kHuge}; }));
    EXPECT_TRUE(refused([](Slice& s) { s.shape = std::vector<std::int64_t>(9, 1); }));
    EXPECT_TRUE(refused([](Slice& s) { s.split_dim = 2; }));
    EXPECT_TRUE(refused([](Slice& s) { s.split_dim = -1; }));
    EXPECT_TRUE(refused([](Slice& s) { s.split_count = 0; }));
    EXPECT_TRUE(refused([](Slice& s) { s.split_index = 1; }));
    EXPECT_TRUE(refused([](Slice& s) { s.split_index = -1; }));
    EXPECT_TRUE(refused([](Slice& s) { s.split_count = 2; }));  // the part has 12, not 24
    EXPECT_TRUE(refused([](Slice& s) { s.first = 1; }));
    EXPECT_TRUE(refused([](Slice& s) { s.first = -1; }));
    EXPECT_TRUE(refused([](Slice& s) { s.count = -1; }));
    EXPECT_TRUE(refused([](Slice& s) { s.first = s.count = kHuge; }));
    EXPECT_THAT(check_slice(element_range(good, 20, 5)).error().message,
                HasSubstr("t (4, 6) f32, part 0 of 1 along 0, elements 20+5: the part has 24"));
}

TEST(Coverage, FindsGapsAndRepeats) {
    Coverage coverage;
    coverage.add(4, 2);
    coverage.add(0, 2);
    EXPECT_EQ(coverage.first_missing(6), 2);
    coverage.add(2, 2);
    EXPECT_EQ(coverage.first_missing(6), 6);
    EXPECT_EQ(coverage.first_missing(7), 6);
    EXPECT_EQ(coverage.first_repeated(), -1);
    coverage.add(1, 1);
    EXPECT_EQ(coverage.first_repeated(), 1);
}

}  // namespace
}  // namespace rm
