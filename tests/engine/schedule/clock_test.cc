#include "engine/schedule/clock.h"

#include <gmock/gmock.h>

#include "tests/engine/schedule/schedule_builder.h"
#include "tests/support/refusals.h"

namespace rm::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// A message takes half a second plus a second per 100 bytes.
const LinkSpeeds kLinks = {{1, {Seconds{0.5}, 100}}, {2, {Seconds{0.25}, 1000}}};

void expect_times(const ClockedSchedule& clocked, std::uint32_t item, double begin, double end) {
    EXPECT_EQ(clocked.items[item].begin, begin) << "item " << item;
    EXPECT_EQ(clocked.items[item].end, end) << "item " << item;
}

TEST(Clock, RunsStreamsSideBySideUntilOneWaits) {
    ScheduleBuilder b;
    b.work(kCompute, "attention", {}, 2);
    b.order(kCompute, kCommunication);
    const auto send = b.send(kCommunication, "send", {{1, 2, Bytes{100}}});
    const auto arrived = b.record(kCommunication);
    const auto mlp = b.work(kCompute, "mlp", {}, 1);
    const auto wait = b.wait(kCompute, arrived);
    const auto norm = b.work(kCompute, "norm", {}, 1);
    const ClockedSchedule clocked = run_clock(b.schedule(), kLinks);
    expect_times(clocked, send, 2, 4);
    expect_times(clocked, arrived, 4, 4);
    expect_times(clocked, mlp, 2, 3);
    expect_times(clocked, wait, 3, 4);
    expect_times(clocked, norm, 4, 5);
    EXPECT_THAT(clocked.exposed, ElementsAre(Pair("communication", 1)));
    EXPECT_THAT(clocked.exposed_traffic, ElementsAre(Pair(1, 1)));
    EXPECT_THAT(clocked.busy, ElementsAre(4, 2, 0));
}

TEST(Clock, ExposesNothingThatComputeHides) {
    ScheduleBuilder b;
    b.send(kCommunication, "send", {{1, 2, Bytes{100}}});
    const auto arrived = b.record(kCommunication);
    b.work(kCompute, "attention", {}, 2);
    expect_times(run_clock(b.schedule(), kLinks), b.wait(kCompute, arrived), 2, 2);
    EXPECT_THAT(run_clock(b.schedule(), kLinks).exposed, IsEmpty());
}

// Groups 1 and 2 share a link: each takes twice as long while the other is under way.
LinkSpeeds shared_links() {
    return {{1, {Seconds{0}, 100, {{2, 1.0}}}}, {2, {Seconds{0}, 100, {{1, 1.0}}}}};
}

TEST(Clock, TransfersThatShareALinkSlowEachOther) {
    ScheduleBuilder b;
    const auto first = b.send(kCommunication, "hop", {{1, 1, Bytes{400}}});
    b.work(kHost, "pack", {}, 1);
    const auto second = b.send(kHost, "gather", {{2, 1, Bytes{100}}});
    const auto third = b.send(kHost, "gather", {{2, 1, Bytes{200}}});
    const ClockedSchedule clocked = run_clock(b.schedule(), shared_links());
    // Alone until 1, half as fast until 3, and until the hop's last second of work at 5.
    expect_times(clocked, second, 1, 3);
    expect_times(clocked, first, 0, 7);
    expect_times(clocked, third, 3, 7);
    EXPECT_THAT(clocked.busy, ElementsAre(0, 7, 7));
}

TEST(Clock, ATransferIsAsFastAsAloneOnceTheOtherHasEnded) {
    ScheduleBuilder b;
    const auto hop = b.send(kCommunication, "hop", {{1, 1, Bytes{400}}});
    const auto gather = b.send(kHost, "gather", {{2, 1, Bytes{100}}});
    const ClockedSchedule clocked = run_clock(b.schedule(), shared_links());
    expect_times(clocked, gather, 0, 2);
    expect_times(clocked, hop, 0, 5);
}

// Links of different groups run at the same time; the slowest decides.
TEST(Clock, TakesTheSlowestOfTheLinksThatGoAtOnce) {
    ScheduleBuilder b;
    const auto both = b.send(kCommunication, "send", {{2, 4, Bytes{3000}}, {1, 1, Bytes{100}}});
    b.order(kCommunication, kCompute);
    const auto one = b.send(kCommunication, "send", {{2, 0, Bytes{0}}, {1, 1, Bytes{100}}});
    const auto unknown = b.send(kCommunication, "send", {{7, 100, Bytes{100}}});
    const ClockedSchedule clocked = run_clock(b.schedule(), kLinks);
    expect_times(clocked, both, 0, 4);
    expect_times(clocked, one, 4, 5.5);
    expect_times(clocked, unknown, 5.5, 5.5);
    EXPECT_THAT(clocked.exposed, ElementsAre(Pair("communication", 4)));
    EXPECT_THAT(clocked.exposed_traffic, ElementsAre(Pair(2, 4)));
}

TEST(Clock, BlamesAGroupOnlyWhereTheLastWorkHadTraffic) {
    ScheduleBuilder b;
    b.send(kCommunication, "send", {{1, 1, Bytes{50}}});
    b.work(kCommunication, "unpack", {}, 1);
    b.order(kCommunication, kCompute);
    EXPECT_THAT(run_clock(b.schedule(), kLinks).exposed, ElementsAre(Pair("communication", 2)));
    EXPECT_THAT(run_clock(b.schedule(), kLinks).exposed_traffic, IsEmpty());
}

TEST(Clock, HoldsUpAllThatIsQueuedAfterAJoin) {
    ScheduleBuilder b;
    b.work(kHost, "write", {}, 3);
    b.work(kCompute, "norm", {}, 1);
    const auto join = b.join(kHost);
    const auto next = b.work(kCompute, "attention", {}, 2);
    const auto send = b.work(kCommunication, "pack", {}, 1);
    const auto later = b.join(kCommunication);  // over before the compute stream is
    const auto mark = b.mark("step");
    const ClockedSchedule clocked = run_clock(b.schedule(), kLinks);
    expect_times(clocked, join, 0, 3);
    expect_times(clocked, next, 3, 5);
    expect_times(clocked, send, 3, 4);
    expect_times(clocked, later, 3, 4);
    expect_times(clocked, mark, 5, 5);
    EXPECT_THAT(clocked.exposed, ElementsAre(Pair("host", 2)));
}

TEST(Clock, ExposesTheTrafficThatAJoinWaitsFor) {
    ScheduleBuilder b;
    b.send(kCommunication, "send", {{1, 1, Bytes{50}}});
    b.join(kCommunication);
    b.work(kCompute, "norm", {}, 1);
    const ClockedSchedule clocked = run_clock(b.schedule(), kLinks);
    EXPECT_THAT(clocked.exposed, ElementsAre(Pair("communication", 1)));
    EXPECT_THAT(clocked.exposed_traffic, ElementsAre(Pair(1, 1)));
}

TEST(Clock, SaysWhenBytesAreLive) {
    ScheduleBuilder b;
    const auto kept = b.request("kept", {0, 64});
    b.work(kCompute, "norm", {}, 2);
    const auto brief = b.request("brief", {64, 80});
    const auto pinned = b.request("pinned", {100, 200}, kHostArena);
    b.work(kCompute, "mlp", {}, 1);
    b.release(brief);
    b.release(kept);
    b.release(pinned);
    const auto timeline = live_bytes(b.schedule(), run_clock(b.schedule(), kLinks), kDeviceArena);
    std::vector<std::pair<double, std::int64_t>> points;
    for (const LiveBytes& point : timeline)
        points.emplace_back(point.seconds, point.bytes.value);
    EXPECT_THAT(points, ElementsAre(Pair(0, 64), Pair(2, 80), Pair(3, 64), Pair(3, 0)));
}

// Computes, then sends to the group with ring order `group` while it computes more, then waits.
StepSchedule layer(double seconds, std::int64_t bytes = 100, int group = 1) {
    ScheduleBuilder b;
    b.work(kCompute, "attention", {}, seconds);
    b.order(kCompute, kCommunication);
    b.send(kCommunication, "ring ring_shift", {{group, 2, Bytes{bytes}}});
    b.order(kCommunication, kCompute);
    b.work(kCompute, "mlp", {}, 1);
    return b.schedule();
}
constexpr std::uint32_t kShift = 3;
constexpr std::uint32_t kMlp = 6;

RankGroups one_group(int num_ranks, int group = 1) {
    std::vector<int> ranks;
    for (int rank = 0; rank < num_ranks; ++rank)
        ranks.push_back(rank);
    return RankGroups(static_cast<std::size_t>(num_ranks), {{group, ranks}});
}

TEST(Clocks, LetACollectiveBeginWhenAllAreThere) {
    const std::vector<StepSchedule> ranks = {layer(1), layer(3), layer(2)};
    const auto clocked = run_clocks(ranks, one_group(3), kLinks);
    for (const ClockedSchedule& rank : clocked) {
        expect_times(rank, kShift, 3, 5);
        expect_times(rank, kMlp, 5, 6);
    }
    EXPECT_EQ(clocked[0].exposed_traffic.at(1), 4);
    EXPECT_EQ(clocked[1].exposed_traffic.at(1), 2);
    EXPECT_THAT(clocked[0].busy, ElementsAre(2, 2, 0));
}

TEST(Clocks, LetOtherGroupsGoOn) {
    const std::vector<StepSchedule> ranks = {layer(1), layer(2), layer(7), layer(8)};
    RankGroups groups = one_group(4);
    groups[0][1] = {0, 1};
    groups[1][1] = {1, 0};  // the same two
    groups[2][1] = groups[3][1] = {2, 3};
    const auto clocked = run_clocks(ranks, groups, kLinks);
    expect_times(clocked[0], kShift, 2, 4);
    expect_times(clocked[1], kShift, 2, 4);
    expect_times(clocked[2], kShift, 8, 10);
}

TEST(Clocks, TakeAsLongAsTheSlowestRankOfACollective) {
    const std::vector<StepSchedule> ranks = {layer(1, 0), layer(1, 300)};
    for (const ClockedSchedule& rank : run_clocks(ranks, one_group(2), kLinks))
        expect_times(rank, kShift, 1, 5);
}

// Nodes are ranks 0, 1 and 2, 3; the shift on both rings waits for the ranks of both.
TEST(Clocks, WaitForAllGroupsOfACollective) {
    std::vector<StepSchedule> ranks;
    for (const double seconds : {1, 2, 4, 3}) {
        ScheduleBuilder b;
        b.work(kCommunication, "pack", {}, seconds);
        b.send(kCommunication, "ring_shift", {{1, 1, Bytes{50}}, {2, 4, Bytes{2000}}});
        ranks.push_back(b.schedule());
    }
    const RankGroups groups = {{{1, {0, 1}}, {2, {0, 2}}},
                               {{1, {0, 1}}, {2, {1, 3}}},
                               {{1, {2, 3}}, {2, {0, 2}}},
                               {{1, {2, 3}}, {2, {1, 3}}}};
    const auto clocked = run_clocks(ranks, groups, kLinks);
    expect_times(clocked[0], 1, 4, 7);
    expect_times(clocked[1], 1, 3, 6);
    expect_times(clocked[2], 1, 4, 7);
    expect_times(clocked[3], 1, 4, 7);
}

TEST(Clocks, OfEqualRanksAreTheClockOfOne) {
    const StepSchedule one = layer(2);
    const ClockedSchedule alone = run_clock(one, kLinks);
    const std::vector<StepSchedule> ranks(4, one);
    for (const ClockedSchedule& rank : run_clocks(ranks, one_group(4), kLinks)) {
        for (std::uint32_t i = 0; i < one.items.size(); ++i)
            expect_times(rank, i, alone.items[i].begin, alone.items[i].end);
        EXPECT_EQ(rank.exposed, alone.exposed);
        EXPECT_EQ(rank.exposed_traffic, alone.exposed_traffic);
    }
}

// Sends on streams in the given order.
StepSchedule sends(const std::vector<std::pair<int, int>>& stream_and_group) {
    ScheduleBuilder b;
    for (const auto& [stream, group] : stream_and_group)
        b.send(stream, group == 1 ? "ring_shift" : "all_gather", {{group, 1, Bytes{50}}});
    return b.schedule();
}

RankGroups two_groups() {
    return RankGroups(2, {{1, {0, 1}}, {2, {0, 1}}});
}

TEST(Clocks, NeedNoOrderBetweenStreams) {
    const std::vector<StepSchedule> ranks = {sends({{kCommunication, 1}, {kHost, 2}}),
                                             sends({{kHost, 2}, {kCommunication, 1}})};
    const auto clocked = run_clocks(ranks, two_groups(), kLinks);
    expect_times(clocked[0], 0, 0, 1);
    expect_times(clocked[1], 1, 0, 1);
}

std::string deadlock(const std::vector<StepSchedule>& ranks, const RankGroups& groups) {
    return check_error_of([&] { run_clocks(ranks, groups, kLinks); });
}

TEST(Clocks, NameTheRanksThatWaitForEachOther) {
    const std::vector<StepSchedule> ranks = {sends({{kCommunication, 1}, {kCommunication, 2}}),
                                             sends({{kCommunication, 2}, {kCommunication, 1}})};
    EXPECT_THAT(
        deadlock(ranks, two_groups()),
        AllOf(HasSubstr("2 of 2 ranks wait for ranks that never come"),
              HasSubstr("rank 0 in ring_shift (item 0), number 0 of group 1, where 1 of 2 ranks"),
              HasSubstr("rank 1 in all_gather (item 0), number 0 of group 2, where 1 of 2 ranks")));
}

TEST(Clocks, NameTheRankThatWaitsForOneThatIsOver) {
    const std::vector<StepSchedule> ranks = {sends({{kCommunication, 1}, {kCommunication, 1}}),
                                             sends({{kCommunication, 1}})};
    EXPECT_THAT(deadlock(ranks, two_groups()),
                AllOf(HasSubstr("rank 0 in ring_shift (item 1), number 1 of group 1"),
                      Not(HasSubstr("rank 1 in"))));
}

// The host joins a stream that never drains, so it never queues what the other rank needs.
TEST(Clocks, FindAHostThatWaitsForItsPeers) {
    ScheduleBuilder joins;
    joins.send(kCommunication, "ring_shift", {{1, 1, Bytes{50}}});
    joins.join(kCommunication);
    joins.send(kHost, "all_gather", {{2, 1, Bytes{50}}});
    ScheduleBuilder other;
    other.send(kHost, "all_gather", {{2, 1, Bytes{50}}});
    other.order(kHost, kCommunication);
    other.send(kCommunication, "ring_shift", {{1, 1, Bytes{50}}});
    EXPECT_THAT(deadlock({joins.schedule(), other.schedule()}, two_groups()),
                AllOf(HasSubstr("rank 0 in ring_shift"), HasSubstr("rank 1 in all_gather")));
}

TEST(Clocks, RefuseGroupsThatDoNotFit) {
    const std::vector<StepSchedule> ranks = {layer(1), layer(1)};
    EXPECT_THAT(deadlock(ranks, RankGroups(3)), HasSubstr("2 schedules, and groups of 3 ranks"));
    EXPECT_THAT(deadlock(ranks, RankGroups(2, {{1, {0}}})),
                HasSubstr("rank 1 is not among the 1 ranks of its group 1"));
}

}  // namespace
}  // namespace rm::test
