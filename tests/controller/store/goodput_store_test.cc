#include "controller/store/goodput_store.h"

#include <gtest/gtest.h>

#include "controller/store/telemetry_store.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

class GoodputTables : public ::testing::Test {
protected:
    void add_steps(std::int64_t first, std::int64_t last) {
        std::vector<TelemetryPiece> pieces;
        for (std::int64_t step = first; step <= last; ++step) {
            pieces.push_back({.job = {"job"},
                              .epoch = {1},
                              .rank = 0,
                              .kind = PieceKind::step,
                              .end_offset = step * 10,
                              .received = {step},
                              .step = step,
                              .bytes = "report"});
        }
        ASSERT_TRUE(telemetry_->write(pieces));
    }
    std::unique_ptr<GoodputStore> open() const { return GoodputStore::open(path_).value(); }

    const TempDir dir_;
    const std::string path_ = dir_.file("telemetry.db");
    std::unique_ptr<TelemetryStore> telemetry_ =
        TelemetryStore::open({path_, dir_.file("logs")}, {1 << 20}).value();
};

TEST_F(GoodputTables, ReadEachReportOnceInTheOrderOfArrival) {
    add_steps(1, 5);
    const auto store = open();
    EXPECT_EQ(store->next(3).value().size(), 3u);
    const auto rest = store->next(3).value();
    ASSERT_EQ(rest.size(), 2u);
    EXPECT_EQ(rest[1].end_offset, 50);
    EXPECT_EQ(rest[1].bytes, "report");
    EXPECT_TRUE(store->next(3).value().empty());
    add_steps(6, 6);
    EXPECT_EQ(store->next(3).value().size(), 1u);
}

TEST_F(GoodputTables, ContinueWithTheReportsAfterThoseInTheAccounts) {
    add_steps(1, 5);
    AttemptAccount account{.epoch = {1}, .job = {"job"}, .end_offset = 30, .last_step = 3};
    account.recent = {0.5, 0.25};
    account.split.good = 1.5;
    account.split.of(Badput::stall) = 0.125;
    {
        const auto store = open();
        ASSERT_EQ(store->next(3).value().size(), 3u);
        ASSERT_TRUE(store->write(std::vector{account}));
        ASSERT_EQ(store->next(3).value().size(), 2u) << "read, and never written";
    }
    const auto store = open();
    EXPECT_EQ(store->next(10).value().size(), 2u);
    const auto kept = store->load({"job"}).value();
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0], account);
    EXPECT_TRUE(store->load({"another"}).value().empty());
}

}  // namespace
}  // namespace rm
