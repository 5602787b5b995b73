// Reports that waited for their controller came in one batch, of which all but the last thousand
// were packed before the files of the run were written: metrics.jsonl and the event files lacked
// those steps for good.
#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "controller/loops/telemetry_loop.h"
#include "controller/ops/jobs/step_samples.h"
#include "ringmaster/v1/job.pb.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

constexpr std::int64_t kBacklog = 5000;

TelemetryPiece piece_of(std::int64_t step) {
    ringmaster::v1::StepReport report;
    report.set_step(step);
    report.set_loss(5.5);
    return {.job = {"abc123"},
            .epoch = {1},
            .rank = 0,
            .kind = PieceKind::step,
            .end_offset = step,
            .received = {step},
            .step = step,
            .loss = 5.5,
            .bytes = report.SerializeAsString()};
}

TEST(Regress0140, StepsOfABacklogAreInTheFilesOfTheirRun) {
    const TempDir directory;
    const TelemetryPaths paths{directory.file("telemetry.db"), directory.file("logs")};
    const auto store = TelemetryStore::open(paths, {1 << 20}, step_samples).value();
    UpdateSignal updates;
    const auto space = SpaceGuard::open(directory.path(), {.telemetry = {0}}).value();
    CurveFiles files(*store, step_samples, directory.file("curves"));
    std::promise<void> pushed;
    {
        const SystemClock clock;
        TelemetryLoop loop(*store, updates, *space, clock, &files);
        // The loop waits here, so that all others are one batch.
        loop.push(piece_of(1), [&](const auto&) { pushed.get_future().wait(); });
        for (std::int64_t step = 2; step <= kBacklog; ++step)
            loop.push(piece_of(step), [](const auto&) {});
        pushed.set_value();
    }
    EXPECT_LT(store->steps_after({"abc123"}, {}, kBacklog).value().size(), 1000u) << "packed";
    std::ifstream rows(directory.file("curves/abc123/metrics.jsonl"));
    std::int64_t count = 0;
    for (std::string line; std::getline(rows, line);)
        ++count;
    EXPECT_EQ(count, kBacklog);
}

}  // namespace
}  // namespace rm::test
