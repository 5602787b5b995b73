#include "tests/engine/schedule/waits.h"

#include <gmock/gmock.h>

#include "tests/engine/schedule/schedule_builder.h"

namespace rm::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Touch kReads = {{{0, 8}}, {}};
const Touch kWrites = {{}, {{0, 8}}};

TEST(Waits, AreThereForTheRaceThatAppearsWithoutThem) {
    ScheduleBuilder b;
    const auto write = b.work(kCompute, "write", kWrites);
    const auto wait = b.order(kCompute, kCommunication);
    const auto send = b.work(kCommunication, "send", kReads);
    const auto findings = examine_waits(b.schedule());
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].wait, wait);
    ASSERT_THAT(findings[0].races, SizeIs(1));
    EXPECT_EQ(findings[0].races[0].first, write);
    EXPECT_EQ(findings[0].races[0].second, send);
}

TEST(Waits, AreThereForWhatIsOrderedThroughThem) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kHost);
    b.order(kHost, kCommunication);
    b.work(kCommunication, "send", kReads);
    const auto findings = examine_waits(b.schedule());
    ASSERT_THAT(findings, SizeIs(2));
    EXPECT_THAT(findings[0].races, SizeIs(1));
    EXPECT_THAT(findings[1].races, SizeIs(1));
}

TEST(Waits, AreRedundantWhereOtherOrderImpliesThem) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kHost);
    b.order(kHost, kCommunication);
    b.order(kCompute, kCommunication);
    b.work(kCommunication, "send", kReads);
    const auto findings = examine_waits(b.schedule());
    ASSERT_THAT(findings, SizeIs(3));
    EXPECT_THAT(findings[2].races, IsEmpty());
    EXPECT_THAT(findings[1].races, IsEmpty());  // the last one does for it
}

TEST(Waits, AreRedundantWhereNothingIsShared) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.order(kCompute, kCommunication);
    b.work(kCommunication, "send", {{{8, 16}}, {}});
    EXPECT_THAT(examine_waits(b.schedule())[0].races, IsEmpty());
}

TEST(Waits, AreRedundantBehindAJoin) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    const auto record = b.record(kCompute);
    b.join(kCompute);
    b.wait(kCommunication, record);
    b.work(kCommunication, "send", kReads);
    EXPECT_THAT(examine_waits(b.schedule())[0].races, IsEmpty());
}

TEST(Waits, AreExaminedOnlyWithoutRaces) {
    ScheduleBuilder b;
    b.work(kCompute, "write", kWrites);
    b.work(kCommunication, "send", kReads);
    EXPECT_THROW(examine_waits(b.schedule()), CheckError);
}

// Each layer writes, sends and writes again; the first layer has no earlier send to wait for.
TEST(WaitSites, CountTheWaitsOfAllLayers) {
    ScheduleBuilder b;
    for (int layer = 0; layer < 4; ++layer) {
        b.order(kCommunication, kCompute);
        b.work(kCompute, "write", kWrites);
        b.order(kCompute, kCommunication);
        b.work(kCommunication, "send", kReads);
    }
    const auto sites = wait_sites(b.schedule(), examine_waits(b.schedule()));
    ASSERT_THAT(sites, SizeIs(3));
    EXPECT_EQ(sites[0].last, "");
    EXPECT_EQ(sites[0].count, 1);
    EXPECT_EQ(sites[0].redundant, 1);
    EXPECT_EQ(sites[1].stream, "communication");
    EXPECT_EQ(sites[1].next, "send");
    EXPECT_EQ(sites[1].awaited, "compute");
    EXPECT_EQ(sites[1].last, "write");
    EXPECT_EQ(sites[1].count, 4);
    EXPECT_EQ(sites[1].redundant, 0);
    EXPECT_THAT(sites[1].races, SizeIs(1));
    EXPECT_EQ(sites[2].stream, "compute");
    EXPECT_EQ(sites[2].last, "send");
    EXPECT_EQ(sites[2].count, 3);
}

}  // namespace
}  // namespace rm::test
