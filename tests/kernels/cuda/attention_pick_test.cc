#include "kernels/cuda/attention/attention_pick.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "kernels/cuda/attention/attention_runs.h"

namespace rm::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using enum AttentionForwardShape;
using enum AttentionBackwardShape;

using Runs = std::vector<rm::Run>;

const GpuProfile kL40S;

TEST(AttentionPick, TakesWideBlocksWhereTheyFillTheDevice) {
    EXPECT_EQ(pick_attention_fwd({.D = 128, .wide_blocks = 142}, kL40S), d128_wide);
    EXPECT_EQ(pick_attention_fwd({.D = 128, .wide_blocks = 141}, kL40S), d128_narrow);
    EXPECT_EQ(pick_attention_fwd({.D = 64, .wide_blocks = 1000}, kL40S), d64_wide);
    EXPECT_EQ(pick_attention_fwd({.D = 64, .wide_blocks = 1}, kL40S), d64_narrow);
}

TEST(AttentionPick, HasOneShapeIn8BitsForShortHeads) {
    using enum AttentionForward8Shape;
    EXPECT_EQ(pick_attention_fwd_8bit({.D = 128, .wide_blocks = 142}, kL40S),
              AttentionForward8Shape::d128_wide);
    EXPECT_EQ(pick_attention_fwd_8bit({.D = 72, .wide_blocks = 141}, kL40S),
              AttentionForward8Shape::d128_narrow);
    EXPECT_EQ(pick_attention_fwd_8bit({.D = 64, .wide_blocks = 1000}, kL40S), d64);
}

TEST(AttentionPick, PadsHeadsToTheCompiledSizes) {
    EXPECT_EQ(head_columns("op", 8), 64);
    EXPECT_EQ(head_columns("op", 64), 64);
    EXPECT_EQ(head_columns("op", 72), 128);
    EXPECT_EQ(head_columns("op", 128), 128);
}

TEST(AttentionPick, RefusesOtherHeadsByName) {
    for (const std::int64_t D : {0, 17, 136, 256}) {
        EXPECT_THAT(
            [&] { pick_attention_bwd({.D = D}, true, kL40S); },
            ThrowsMessage<CheckError>(HasSubstr(format(
                "attention_bwd: heads of D = {}; multiples of 8 up to 128 are possible", D))));
    }
}

TEST(AttentionPick, SumsQueryGradientsInOrderWhereTheCallerWantsTheSameBits) {
    EXPECT_EQ(pick_attention_bwd({.D = 128}, true, kL40S), d128_ordered);
    EXPECT_EQ(pick_attention_bwd({.D = 128}, false, kL40S), d128_atomic);
    EXPECT_EQ(pick_attention_bwd({.D = 40}, true, kL40S), d64_ordered);
    EXPECT_EQ(pick_attention_bwd({.D = 40}, false, kL40S), d64_atomic);
}

TEST(AttentionPick, SaysWhatADeviceLacks) {
    const GpuProfile small{.shared_per_block = {48 * 1024}};
    EXPECT_THAT([&] { pick_attention_bwd({.D = 128}, true, small); },
                ThrowsMessage<CheckError>(HasSubstr("the device gives 49152 to a block")));
}

TEST(AttentionPick, IsPrintable) {
    EXPECT_EQ(to_string(d128_wide),
              "attention_fwd 128x64, 8 warps, 2 stages, D up to 128, 256 threads, 66560 bytes "
              "shared");
}

TEST(AttentionRuns, LeaveOutPaddingAndKeepTheTokensPlace) {
    const Runs runs = {{0, 5, 10}, {kPaddingDocument, 0, 7}, {1, 0, 0}, {2, 100, 1}};
    auto lists = run_lists("op", runs);
    ASSERT_EQ(lists.size(), 1U);
    ASSERT_EQ(lists[0].count, 2);
    EXPECT_EQ(lists[0].runs[0].token, 0);
    EXPECT_EQ(lists[0].runs[0].first, 5);
    EXPECT_EQ(lists[0].runs[1].document, 2);
    EXPECT_EQ(lists[0].runs[1].token, 17);
    EXPECT_EQ(number_tiles(lists[0], 8), 3);
    EXPECT_EQ(lists[0].runs[1].first_tile, 2);
}

TEST(AttentionRuns, AreCutWhereParametersAreFull) {
    const Runs runs(2 * device::kMaxRuns + 1, {0, 0, 3});
    const auto lists = run_lists("op", runs);
    ASSERT_EQ(lists.size(), 3U);
    EXPECT_EQ(lists[0].count, device::kMaxRuns);
    EXPECT_EQ(lists[2].count, 1);
    EXPECT_EQ(lists[2].runs[0].token, 3 * 2 * device::kMaxRuns);
    EXPECT_TRUE(run_lists("op", Runs{}).empty());
}

TEST(AttentionRuns, AreCutBetweenTilesWhereAListIsFull) {
    const Runs runs = {{0, 7, 10}, {kPaddingDocument, 0, 3}, {1, 0, 33}, {2, 5, 2}};
    auto lists = tile_lists("op", runs, 8, 3);  // tiles: 2, 5, 1
    ASSERT_EQ(lists.size(), 3U);
    std::vector<int> tiles, firsts, tokens, lengths;
    for (device::RunList& list : lists) {
        tiles.push_back(number_tiles(list, 8));
        for (int i = 0; i < list.count; ++i) {
            firsts.push_back(list.runs[i].first);
            tokens.push_back(list.runs[i].token);
            lengths.push_back(list.runs[i].length);
        }
    }
    EXPECT_EQ(tiles, std::vector({3, 3, 2}));
    EXPECT_EQ(firsts, std::vector({7, 0, 8, 32, 5}));
    EXPECT_EQ(tokens, std::vector({0, 13, 21, 45, 46}));
    EXPECT_EQ(lengths, std::vector({10, 8, 24, 1, 2}));
    EXPECT_EQ(tile_lists("op", Runs(2 * device::kMaxRuns, {0, 0, 3}), 8, 1000).size(), 2U);
}

TEST(AttentionRuns, BeyondThirtyTwoBitsAreRefused) {
    const Runs runs = {{0, (std::int64_t{1} << 31) - 5, 10}};
    EXPECT_THAT([&] { run_lists("attention_fwd", runs); },
                ThrowsMessage<CheckError>(HasSubstr("positions and tokens up to 2147483647")));
}

bool any_seen(const Runs& queries, const Runs& keys) {
    auto q = run_lists("op", queries), k = run_lists("op", keys);
    return link(q.at(0), k.at(0));
}

TEST(AttentionRuns, OfAnotherDocumentOrLaterAreNotSeen) {
    EXPECT_TRUE(any_seen({{0, 10, 5}}, {{0, 14, 5}}));
    EXPECT_FALSE(any_seen({{0, 10, 5}}, {{0, 15, 5}}));
    EXPECT_FALSE(any_seen({{0, 10, 5}}, {{1, 0, 5}}));
    EXPECT_TRUE(any_seen({{0, 10, 5}, {1, 0, 1}}, {{2, 0, 9}, {1, 0, 5}}));
}

TEST(AttentionRuns, KnowWhichRunsTheySee) {
    auto q = run_lists("op", Runs{{7, 0, 4}, {0, 10, 5}, {1, 0, 1}});
    auto k = run_lists("op", Runs{{0, 0, 5}, {1, 0, 9}, {0, 5, 9}, {0, 15, 9}});
    ASSERT_TRUE(link(q[0], k[0]));
    const auto seen = [](const device::TokenRun& run) {
        return std::pair<int, int>(run.see_begin, run.see_end);
    };
    EXPECT_EQ(seen(q[0].runs[0]), std::pair(0, 0)) << "nothing";
    EXPECT_EQ(seen(q[0].runs[1]), std::pair(0, 3)) << "the first and the third";
    EXPECT_EQ(seen(q[0].runs[2]), std::pair(1, 2));
    EXPECT_EQ(seen(k[0].runs[2]), std::pair(1, 2));
    EXPECT_EQ(seen(k[0].runs[3]), std::pair(0, 0)) << "is later than every query";
}

}  // namespace
}  // namespace rm::cuda
