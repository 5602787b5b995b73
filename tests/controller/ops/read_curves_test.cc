#include "controller/ops/jobs/read_curves.h"

#include <gmock/gmock.h>

#include "controller/ops/jobs/step_samples.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

const JobId kJob{"abc123"};

struct KeptCurves {
    TempDir directory;
    TelemetryPaths paths{directory.file("telemetry.db"), directory.file("logs")};
    std::unique_ptr<TelemetryStore> store =
        TelemetryStore::open(paths, {1 << 20}, step_samples).value();
    std::unique_ptr<TelemetryReader> reader = TelemetryReader::open(paths, step_samples).value();

    void train(std::int64_t from, std::int64_t to, std::int64_t epoch = 1) {
        std::vector<TelemetryPiece> pieces;
        for (std::int64_t step = from; step <= to; ++step) {
            pb::StepReport report;
            report.set_step(step);
            report.set_tokens(512);
            report.set_seconds(1);
            report.set_loss(static_cast<double>(epoch) + 1.0 / static_cast<double>(step));
            for (const char* phase : {"attention", "gemm", "idle", "data", "optimizer"})
                (*report.mutable_phase_seconds())[phase] = 0.2;
            pieces.push_back({.job = kJob,
                              .epoch = {epoch},
                              .kind = PieceKind::step,
                              .end_offset = step,
                              .received = {step * 1'000'000},
                              .step = step,
                              .bytes = report.SerializeAsString()});
        }
        const Status kept = store->write(pieces);
        ASSERT_TRUE(kept) << kept.error().message;
    }
    pb::StepsReply read(pb::StepsRequest request) {
        const auto reply = read_curves(*reader, kJob, request);
        EXPECT_TRUE(reply) << reply.error().message;
        return reply ? *reply : pb::StepsReply();
    }
};

pb::StepsRequest request_for(const std::vector<std::string>& quantities) {
    pb::StepsRequest request;
    request.mutable_quantities()->Add(quantities.begin(), quantities.end());
    return request;
}

TEST(ReadCurves, PagesHaveEveryStepOnce) {
    KeptCurves kept;
    kept.train(1, 9000, 1);
    kept.train(8001, 30'000, 2);
    const pb::StepsReply names = kept.read({});
    ASSERT_EQ(names.quantities_size(), 12);
    pb::StepsRequest request;
    *request.mutable_quantities() = names.quantities();
    request.set_from_step(7);
    std::map<std::string, std::int64_t> next;
    int pages = 0;
    do {
        const pb::StepsReply page = kept.read(request);
        ++pages;
        EXPECT_EQ(page.curves_size(), 12);
        for (const pb::Curve& curve : page.curves()) {
            std::int64_t& expected = next.try_emplace(curve.quantity(), 7).first->second;
            for (int i = 0; i < curve.steps_size(); ++i, ++expected) {
                ASSERT_EQ(curve.steps(i), expected) << curve.quantity();
                ASSERT_EQ(curve.times(i), static_cast<double>(expected));
                if (curve.quantity() != "loss") continue;
                ASSERT_NEAR(curve.values(i), (expected <= 8000 ? 1 : 2) + 1.0 / expected, 1e-6);
            }
        }
        request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(pages, 3);
    for (const auto& [quantity, step] : next)
        EXPECT_EQ(step, 30'001) << quantity;
}

TEST(ReadCurves, ARangeIsOfItsStepsAlone) {
    KeptCurves kept;
    kept.train(1, 5000);
    pb::StepsRequest request = request_for({"loss"});
    request.set_from_step(1200);
    request.set_to_step(1300);
    const pb::StepsReply reply = kept.read(request);
    ASSERT_EQ(reply.curves_size(), 1);
    EXPECT_EQ(reply.curves(0).steps(0), 1200);
    EXPECT_EQ(reply.curves(0).steps_size(), 101);
    EXPECT_EQ(reply.curves(0).unit(), "nats");
    EXPECT_TRUE(reply.next_page_token().empty());
}

TEST(ReadCurves, NoMoreThanThePointsAskedFor) {
    KeptCurves kept;
    kept.train(1, 20'000);
    pb::StepsRequest request = request_for({"loss", "seconds"});
    request.set_max_points(100);
    const pb::StepsReply reply = kept.read(request);
    ASSERT_EQ(reply.curves_size(), 2);
    for (const pb::Curve& curve : reply.curves()) {
        EXPECT_EQ(curve.steps_size(), 100);
        EXPECT_EQ(curve.steps(0), 1);
        EXPECT_EQ(curve.steps(99), 20'000);
        EXPECT_EQ(curve.times(99), 20'000);
    }
}

TEST(ReadCurves, RefuseAnUnknownQuantityAndAForeignToken) {
    KeptCurves kept;
    kept.train(1, 3);
    const auto unknown = read_curves(*kept.reader, kJob, request_for({"los"}));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(unknown.error().message, testing::HasSubstr("'los'"));
    EXPECT_THAT(unknown.error().message, testing::HasSubstr("grad_norm, "));
    pb::StepsRequest foreign = request_for({"loss"});
    foreign.set_page_token("x");
    EXPECT_FALSE(read_curves(*kept.reader, kJob, foreign));
}

}  // namespace
}  // namespace rm::test
