// While its disk was full the controller acknowledged step reports and dropped them: the losses of
// 1,790 steps were gone for good, though the workers had the bytes. One worker's impossible offset
// also failed the pieces of all others.
#include <gtest/gtest.h>

#include <future>

#include "controller/loops/telemetry_loop.h"
#include "tests/controller/running.h"

namespace rm::test {
namespace {

TEST(Regress0032, WhatIsNotStoredIsNotAcknowledged) {
    Running running;
    running.daemon.reset();
    DaemonOptions full = running.options();
    full.space.telemetry = Bytes{std::int64_t{1} << 60};  // as high as the disk is large
    full.space.telemetry_percent = 100;
    running.start(std::move(full));
    const std::string id = running.submit(small_spec());
    Epoch epoch;
    {
        JoinedWorker worker(running.address, hello_of("a", 1));
        epoch = worker.take<LaunchAttempt>().epoch;
        const grpc::Status end =
            TelemetrySender(running).send_refused(TelemetrySender::step(epoch, 1, 5.5));
        EXPECT_EQ(end.error_code(), grpc::RESOURCE_EXHAUSTED) << end.error_message();
    }
    running.restart();  // with room
    EXPECT_EQ(TelemetrySender(running).send(TelemetrySender::step(epoch, 1, 5.5)).reports_offset(),
              100);
    EXPECT_EQ(running.job(id).last_step().loss(), 5.5);
}

TEST(Regress0032, AnImpossibleOffsetIsItsSendersFailureOnly) {
    Running running;
    const std::string id = running.submit(small_spec());
    JoinedWorker worker(running.address, hello_of("a", 1));
    const Epoch epoch = worker.take<LaunchAttempt>().epoch;
    const grpc::Status end =
        TelemetrySender(running).send_refused(TelemetrySender::log(epoch, 0, -5, "abc"));
    EXPECT_EQ(end.error_code(), grpc::INVALID_ARGUMENT) << end.error_message();
    TelemetrySender(running).send(TelemetrySender::step(epoch, 1, 5.5));
    EXPECT_EQ(running.job(id).last_step().loss(), 5.5);
}

TelemetryPiece step_of(int rank) {
    return {.job = {"abc123"},
            .epoch = {1},
            .rank = rank,
            .kind = PieceKind::step,
            .end_offset = 100,
            .step = 1};
}

// Its directory of logs cannot be made.
TelemetryPiece blocked_log(const TempDir& directory) {
    directory.write("logs/bad000", "a file");
    return {.job = {"bad000"}, .epoch = {2}, .end_offset = 3, .bytes = "abc"};
}

TEST(Regress0032, WhatCannotBeKeptFailsNothingElseOfItsBatch) {
    const TempDir directory;
    const auto store =
        TelemetryStore::open({directory.file("telemetry.db"), directory.file("logs")}, {1 << 20});
    ASSERT_TRUE(store) << store.error().message;
    UpdateSignal updates;
    const auto space = SpaceGuard::open(directory.path(), {.telemetry = {0}}).value();
    std::promise<void> pushed;
    std::vector<std::promise<Result<StreamOffsets>>> kept(3);
    {
        const SystemClock clock;
        TelemetryLoop loop(**store, updates, *space, clock, nullptr);
        // The loop waits here, so that all others are one batch.
        loop.push(step_of(7), [&](const auto&) { pushed.get_future().wait(); });
        loop.push(step_of(0), [&](const auto& offsets) { kept[0].set_value(offsets); });
        loop.push(blocked_log(directory), [&](const auto& offsets) { kept[1].set_value(offsets); });
        loop.push(step_of(1), [&](const auto& offsets) { kept[2].set_value(offsets); });
        pushed.set_value();
    }
    EXPECT_EQ(kept[0].get_future().get().value().reports, 100);
    EXPECT_FALSE(kept[1].get_future().get());
    EXPECT_EQ(kept[2].get_future().get().value().reports, 100);
}

}  // namespace
}  // namespace rm::test
