#include "engine/schedule/races.h"

#include <gmock/gmock.h>

#include "tests/engine/schedule/schedule_builder.h"

namespace rm::test {
namespace {

using ::testing::IsEmpty;

const Touch kReads = {{{0, 8}}, {}};
const Touch kWrites = {{}, {{4, 12}}};
const Touch kReadsThose = {{{4, 12}}, {}};

std::vector<Race> races_between(const Touch& compute, const Touch& communication) {
    ScheduleBuilder b;
    b.work(kCompute, "compute", compute);
    b.work(kCommunication, "shift", communication);
    return find_races(b.schedule());
}

void expect_race(const std::vector<Race>& races, std::uint32_t first, std::uint32_t second) {
    ASSERT_EQ(races.size(), 1U);
    EXPECT_EQ(races[0].first, first);
    EXPECT_EQ(races[0].second, second);
}

TEST(Races, AreOfAWriteWithAnyOtherAccess) {
    expect_race(races_between(kReads, kWrites), 0, 1);
    expect_race(races_between(kWrites, kReads), 0, 1);
    expect_race(races_between(kWrites, kWrites), 0, 1);
    EXPECT_THAT(races_between(kReads, kReadsThose), IsEmpty());
}

TEST(Races, AreOfTheSameBytes) {
    const auto races = races_between(kReads, kWrites);
    ASSERT_EQ(races.size(), 1U);
    EXPECT_EQ(races[0].bytes.address, 4U);
    EXPECT_EQ(races[0].bytes.size, 4);
    EXPECT_THAT(races_between(kReads, {{}, {{8, 12}}}), IsEmpty());
    EXPECT_THAT(races_between(kReads, {{}, {{4, 4}}}), IsEmpty());
    expect_race(races_between({{{0, 1}, {50, 60}}, {}}, {{{0, 9}}, {{20, 30}, {58, 59}}}), 0, 1);
}

TEST(Races, AreNoneOnOneStream) {
    ScheduleBuilder b;
    for (const Touch& touch : {kWrites, kWrites, kReads, kWrites})
        b.work(kHost, "copy", touch);
    EXPECT_THAT(find_races(b.schedule()), IsEmpty());
}

TEST(Races, EndWithAnEvent) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kCommunication);
    b.work(kCommunication, "send", kReads);
    b.order(kCommunication, kCompute);
    b.work(kCompute, "write", kWrites);
    EXPECT_THAT(find_races(b.schedule()), IsEmpty());
}

TEST(Races, AreFoundWhereTheRecordIsTooEarlyOrTheWaitTooLate) {
    ScheduleBuilder early;
    const auto record = early.record(kCompute);
    early.work(kCompute, "write", kWrites);
    early.wait(kCommunication, record);
    early.work(kCommunication, "send", kReads);
    expect_race(find_races(early.schedule()), 1, 3);

    ScheduleBuilder late;
    late.work(kCompute, "write", kWrites);
    late.work(kCommunication, "send", kReads);
    late.order(kCompute, kCommunication);
    late.work(kCommunication, "send", kReads);
    expect_race(find_races(late.schedule()), 0, 1);
}

TEST(Races, EndWithOrderThroughAThirdStream) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kHost);
    b.order(kHost, kCommunication);
    b.work(kCommunication, "send", kReads);
    EXPECT_THAT(find_races(b.schedule()), IsEmpty());
}

// A record does not cover later waits of its stream.
TEST(Races, AreFoundBehindARecordThatIsOlderThanTheWait) {
    ScheduleBuilder b;
    const auto old = b.record(kHost);
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kHost);
    b.wait(kCommunication, old);
    b.work(kCommunication, "send", kReads);
    expect_race(find_races(b.schedule()), 1, 5);
}

TEST(Races, EndWithAJoinOfTheHost) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.join(kCompute);
    b.work(kCommunication, "send", kReads);
    EXPECT_THAT(find_races(b.schedule()), IsEmpty());
}

TEST(Races, AreFoundBehindAJoinOfAnotherStream) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.join(kHost);
    b.work(kCommunication, "send", kReads);
    expect_race(find_races(b.schedule()), 0, 2);
}

TEST(Races, OfAJoinAreOrderedThroughWhatItsStreamWaitedFor) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kHost);
    b.join(kHost);
    b.work(kCommunication, "send", kReads);
    EXPECT_THAT(find_races(b.schedule()), IsEmpty());
}

TEST(Races, AreFoundBehindAnOrderedAccess) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kCommunication);
    b.work(kCompute, "read", kReads);
    b.work(kCommunication, "send", kReads);
    b.work(kCommunication, "receive", kWrites);  // not after the read
    expect_race(find_races(b.schedule()), 3, 5);
}

TEST(Races, AreListedUpToALimitOncePerItemAndStream) {
    ScheduleBuilder b;
    b.work(kCompute, "read", kReads);
    b.work(kCompute, "read", kReads);
    for (int i = 0; i < 30; ++i)
        b.work(kCommunication, "receive", kWrites);
    EXPECT_EQ(find_races(b.schedule()).size(), 16U);
    EXPECT_EQ(find_races(b.schedule(), 100).size(), 30U);
    EXPECT_EQ(find_races(b.schedule(), 100)[29].first, 1U);
}

TEST(Races, AreDescribedByOpStreamAndBuffer) {
    ScheduleBuilder b;
    b.request("keys of block 2", {0, 64});
    b.work(kCompute, "attention", {{{0, 64}}, {}});
    b.work(kCommunication, "ring ring_shift", {{{100, 200}}, {{16, 32}}});
    b.work(kHost, "file", {{}, {{150, 151}}});
    const auto races = find_races(b.schedule());
    ASSERT_EQ(races.size(), 2U);
    EXPECT_EQ(describe(b.schedule(), races[0]),
              "attention on compute (item 1) reads 16 bytes of 'keys of block 2' at offset 16, and "
              "ring ring_shift on communication (item 2) writes 16 bytes of 'keys of block 2' at "
              "offset 16: nothing orders them");
    EXPECT_EQ(describe(b.schedule(), races[1]),
              "ring ring_shift on communication (item 2) reads 1 bytes of address 0x96, and file "
              "on host (item 3) writes 1 bytes of address 0x96: nothing orders them");
}

}  // namespace
}  // namespace rm::test
