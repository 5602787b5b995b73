#include "engine/schedule/buffers.h"

#include <gmock/gmock.h>

#include <functional>

#include "engine/schedule/races.h"
#include "tests/engine/schedule/lifetimes.h"
#include "tests/engine/schedule/schedule_builder.h"
#include "tests/support/refusals.h"

namespace rm::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal(const StepSchedule& schedule, int arena = kDeviceArena) {
    return refusal_of(arena_trace(schedule, arena));
}

TEST(ArenaTraceOf, HasLivesByItemInTheOrderOfRequests) {
    ScheduleBuilder b;
    const auto kept = b.request("kept", {100, 164}, kDeviceArena, 3);
    const auto pinned = b.request("pinned", {500, 600}, kHostArena);
    b.work(kCompute, "norm", {{}, {{100, 164}}});
    const auto short_lived = b.request("short", {200, 208});
    b.release(short_lived);
    b.release(kept);
    b.release(pinned);
    const ArenaTrace trace = arena_trace(b.schedule(), kDeviceArena).value();
    ASSERT_EQ(trace.blocks.size(), 2U);
    EXPECT_EQ(trace.blocks[0].lower, 0);
    EXPECT_EQ(trace.blocks[0].upper, 5);
    EXPECT_EQ(trace.blocks[0].size, Bytes{64});
    EXPECT_EQ(trace.blocks[1].lower, 3);
    EXPECT_EQ(trace.blocks[1].upper, 4);
    EXPECT_EQ(trace.blocks[1].size, Bytes{8});
    EXPECT_THAT(trace.groups, ElementsAre(3, kNoGroup));
    EXPECT_EQ(arena_trace(b.schedule(), kHostArena)->blocks.size(), 1U);
    EXPECT_TRUE(check_trace(trace));
}

TEST(ArenaTraceOf, RefusesLivesThatDoNotEndOnce) {
    ScheduleBuilder b;
    const auto buffer = b.request("keys", {0, 8});
    EXPECT_EQ(refusal(b.schedule()), "buffer 'keys', requested at item 0, is never released");
    EXPECT_EQ(refusal(b.schedule(), kHostArena), "accepted");
    b.release(buffer);
    EXPECT_EQ(refusal(b.schedule()), "accepted");
    b.release(buffer);
    EXPECT_EQ(refusal(b.schedule()), "buffer 'keys' is released at item 1 and again at item 2");
    StepSchedule twice = b.schedule();
    twice.items[1] = twice.items[0];
    EXPECT_EQ(refusal(twice), "buffer 'keys' is requested at item 0 and again at item 1");
    StepSchedule early = b.schedule();
    early.items[0] = early.items[1];
    EXPECT_EQ(refusal(early), "buffer 'keys' is released at item 0 before it is requested");
}

// The stream norms and sends `first`, then writes `second`. They touch different bytes until a plan
// gives both the same ones.
ScheduleBuilder two_buffers(const std::function<void(ScheduleBuilder&)>& between) {
    ScheduleBuilder b;
    const auto first = b.request("first", {100, 164});
    b.work(kCompute, "norm", {{{10, 20}}, {{100, 164}}});
    b.order(kCompute, kCommunication);
    b.work(kCommunication, "send", {{{120, 128}}, {}});
    b.release(first);
    const auto second = b.request("second", {200, 232});
    between(b);
    b.work(kCompute, "add", {{}, {{200, 232}}});
    b.release(second);
    return b;
}
const ArenaPlan kShared = {{Bytes{0}, Bytes{16}}, Bytes{64}};
const ArenaPlan kApart = {{Bytes{0}, Bytes{64}}, Bytes{96}};

TEST(PlaceBuffers, MovesRangesWithTheirBuffers) {
    const ScheduleBuilder b = two_buffers([](ScheduleBuilder&) {});
    const StepSchedule placed = place_buffers(b.schedule(), std::span(&kShared, 1));
    const std::uint64_t base = placed.buffers[0].range.address;
    EXPECT_GE(base, 232U);
    EXPECT_EQ(placed.buffers[1].range.address, base + 16);
    std::vector<std::uint64_t> addresses;
    for (const AddressRange& range : placed.ranges)
        addresses.push_back(range.address);
    EXPECT_THAT(addresses, ElementsAre(10, base, base + 20, base + 16));
    EXPECT_EQ(placed.ranges[2].size, 8);
}

TEST(PlaceBuffers, KeepsArenasApartAndLeavesThoseWithoutAPlan) {
    ScheduleBuilder b;
    const auto device = b.request("device", {0, 64});
    const auto host = b.request("host", {64, 96}, kHostArena);
    b.work(kCompute, "copy", {{{0, 64}}, {{64, 96}}});
    b.release(device);
    b.release(host);
    const std::vector<ArenaPlan> plans = {{{Bytes{0}}, Bytes{64}}, {{Bytes{0}}, Bytes{32}}};
    const StepSchedule both = place_buffers(b.schedule(), plans);
    EXPECT_GE(both.buffers[0].range.address, 96U);
    EXPECT_GE(both.buffers[1].range.address, both.buffers[0].range.address + 64);
    const StepSchedule one = place_buffers(b.schedule(), std::span(plans).first(1));
    EXPECT_EQ(one.buffers[1].range.address, 64U);
    EXPECT_EQ(one.ranges[1].address, 64U);
}

TEST(PlaceBuffers, RefusesPlansOfOtherSchedulesAndRangesPastABuffer) {
    const ScheduleBuilder b = two_buffers([](ScheduleBuilder& b) {
        b.work(kCompute, "too long", {{}, {{100, 165}}});
    });
    EXPECT_THROW(place_buffers(b.schedule(), std::span(&kApart, 1)), CheckError);
    const ScheduleBuilder good = two_buffers([](ScheduleBuilder&) {});
    const ArenaPlan other = {{Bytes{0}}, Bytes{64}};
    EXPECT_THROW(place_buffers(good.schedule(), std::span(&other, 1)), CheckError);
}

TEST(PlaceBuffers, ShowsReuseThatNothingOrders) {
    const ScheduleBuilder b = two_buffers([](ScheduleBuilder&) {});
    EXPECT_THAT(find_races(b.schedule()), IsEmpty());
    EXPECT_THAT(find_races(place_buffers(b.schedule(), std::span(&kApart, 1))), IsEmpty());
    const StepSchedule placed = place_buffers(b.schedule(), std::span(&kShared, 1));
    const auto races = find_races(placed);
    ASSERT_EQ(races.size(), 1U);
    EXPECT_EQ(describe(placed, races[0]),
              "send on communication (item 4) reads 8 bytes of 'first' at offset 20, and add on "
              "compute (item 7) writes 8 bytes of 'second' at offset 4: nothing orders them");
}

TEST(PlaceBuffers, ShowsNothingWhereReuseIsOrdered) {
    const ScheduleBuilder b =
        two_buffers([](ScheduleBuilder& b) { b.order(kCommunication, kCompute); });
    EXPECT_THAT(find_races(place_buffers(b.schedule(), std::span(&kShared, 1))), IsEmpty());
}

TEST(Lifetimes, HoldWorkBetweenRequestAndRelease) {
    EXPECT_TRUE(check_lifetimes(two_buffers([](ScheduleBuilder&) {}).schedule()));
    const auto late = two_buffers([](ScheduleBuilder& b) {
        b.work(kCompute, "late", {{{163, 164}}, {}});
    });
    EXPECT_EQ(check_lifetimes(late.schedule()).error().message,
              "late on compute (item 7) touches 'first' after its release (item 5)");
    ScheduleBuilder early;
    early.work(kCompute, "early", {{}, {{8, 16}}});
    early.request("buffer", {0, 16});
    EXPECT_EQ(check_lifetimes(early.schedule()).error().message,
              "early on compute (item 0) touches 'buffer' before its request");
}

TEST(Lifetimes, OfAnUnendedBufferGoOnToTheEnd) {
    ScheduleBuilder b;
    b.request("buffer", {0, 16});
    b.work(kCompute, "norm", {{{0, 16}}, {}});
    EXPECT_TRUE(check_lifetimes(b.schedule()));
}

TEST(Lifetimes, TakeSchedulesWhoseBuffersHaveTheirOwnAddresses) {
    const ScheduleBuilder b = two_buffers([](ScheduleBuilder&) {});
    const StepSchedule placed = place_buffers(b.schedule(), std::span(&kShared, 1));
    EXPECT_THAT(check_error_of([&] { (void)check_lifetimes(placed); }),
                HasSubstr("buffers 'first' and 'second' share addresses"));
}

}  // namespace
}  // namespace rm::test
