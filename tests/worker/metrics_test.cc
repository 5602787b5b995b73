#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "tests/worker/support.h"
#include "worker/dir/files.h"
#include "worker/metrics/worker_metrics.h"

namespace rm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MonoTime at(double seconds) {
    return {static_cast<std::int64_t>(seconds * 1e9)};
}

StepReport step(std::int64_t number) {
    return {.step = number,
            .tokens = 100,
            .tokens_total = 100 * number,
            .loss = 2.5,
            .learning_rate = 0.25,
            .seconds = 0.5,
            .model_flops = 1000,
            .causal_mfu = 0.5,
            .full_mfu = 0.75,
            .hfu = 0.625,
            .phase_seconds = {{"forward", 0.125}},
            .memory = {.by_kind = {{"weights", {4096}}, {"host optimizer", {512}}}},
            .axes = {{"ring", {.bytes_sent = 64, .wait_seconds = 0.25}},
                     {"tensor", {.bytes_sent = 32, .wait_seconds = 0.125}}}};
}

Observation observed(std::int64_t epoch, bool live, std::vector<RankReport> reports = {}) {
    return {.status = {.epoch = {epoch},
                       .job = {"abc123"},
                       .ranks = {{.rank = 0, .device = 1}, {.rank = 3, .device = 0}},
                       .processes_left = live},
            .reports = std::move(reports)};
}

class RunMetrics : public ::testing::Test {
protected:
    std::string text() const { return metrics_.response().body; }
    WorkerMetrics metrics_{NodeId{"n1"}};
};

TEST_F(RunMetrics, HaveOneOwnerPerSeries) {
    metrics_.update({observed(1, true,
                              {{0, {{1'000'000}, step(1)}},
                               {0, {{2'500'000}, step(2)}},
                               {3, {{2'500'000}, step(2)}}})},
                    at(0));
    for (const char* line : {
             "ringmaster_train_step{run=\"abc123\"} 2",
             "ringmaster_train_tokens_total{run=\"abc123\"} 200",
             "ringmaster_train_flops_total{run=\"abc123\"} 2000",
             "ringmaster_train_loss{run=\"abc123\"} 2.5",
             "ringmaster_train_learning_rate{run=\"abc123\"} 0.25",
             "ringmaster_train_mfu_ratio{convention=\"causal\",run=\"abc123\"} 0.5",
             "ringmaster_train_mfu_ratio{convention=\"full\",run=\"abc123\"} 0.75",
             "ringmaster_train_hfu_ratio{run=\"abc123\"} 0.625",
             "ringmaster_train_step_duration_seconds_count{run=\"abc123\"} 2",
             "ringmaster_train_phase_seconds_total{phase=\"forward\",run=\"abc123\"} 0.25",
             "ringmaster_train_last_step_timestamp_seconds{run=\"abc123\"} 2.5",
             "ringmaster_train_nonfinite_steps_total{run=\"abc123\"} 0",
             "ringmaster_rank_step_seconds{gpu=\"1\",node=\"n1\",rank=\"0\",run=\"abc123\"} 0.5",
             "ringmaster_rank_step_seconds{gpu=\"0\",node=\"n1\",rank=\"3\",run=\"abc123\"} 0.5",
             "ringmaster_ring_tx_bytes_total{gpu=\"1\",node=\"n1\",rank=\"0\",run=\"abc123\"} 128",
             "ringmaster_ring_wait_seconds_total{gpu=\"0\",node=\"n1\",rank=\"3\",run=\"abc123\"} "
             "0.25",
             "ringmaster_axis_tx_bytes_total{axis=\"ring\",gpu=\"1\",node=\"n1\",rank=\"0\",run="
             "\"abc123\"} 128",
             "ringmaster_axis_tx_bytes_total{axis=\"tensor\",gpu=\"1\",node=\"n1\",rank=\"0\",run="
             "\"abc123\"} 64",
             "ringmaster_axis_exposed_seconds_total{axis=\"tensor\",gpu=\"0\",node=\"n1\",rank="
             "\"3\",run=\"abc123\"} 0.125",
             "ringmaster_device_memory_bytes{gpu=\"0\",kind=\"weights\",node=\"n1\",rank=\"3\",run="
             "\"abc123\"} 4096",
             "ringmaster_host_memory_bytes{gpu=\"0\",kind=\"optimizer\",node=\"n1\",rank=\"3\",run="
             "\"abc123\"} 512",
         }) {
        EXPECT_THAT(text(), HasSubstr(std::string(line) + "\n"));
    }
    EXPECT_THAT(text(), Not(HasSubstr("kind=\"host "))) << "host memory is no device memory";
    EXPECT_THAT(text(), Not(HasSubstr("axis=\"ulysses\""))) << "it has not moved anything";
    EXPECT_THAT(text(), Not(HasSubstr("ringmaster_train_checkpoint_duration_seconds{")));
}

TEST_F(RunMetrics, OfTheJobAreNotExportedWithoutRankZero) {
    metrics_.update({observed(1, true, {{3, {{1}, step(1)}}})}, at(0));
    EXPECT_THAT(text(), Not(HasSubstr("ringmaster_train_step{")));
    EXPECT_THAT(text(), HasSubstr("ringmaster_rank_step_seconds{"));
}

TEST_F(RunMetrics, CountStepsThatWereSkippedAndCheckpoints) {
    StepReport skipped = step(1);
    skipped.finite = false;
    skipped.loss = std::numeric_limits<double>::quiet_NaN();
    metrics_.update({observed(1, true,
                              {{0, {{1}, skipped}},
                               {0, {{7'000'000}, CheckpointReport{1, "/c", 0.5}}},
                               {0, {{8'000'000}, AlarmReport{"no checkpoint of step 2"}}}})},
                    at(0));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_alarms_total{run=\"abc123\"} 1\n"));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_nonfinite_steps_total{run=\"abc123\"} 1\n"));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_loss{run=\"abc123\"} Nan"));
    EXPECT_THAT(text(),
                HasSubstr("ringmaster_train_checkpoint_duration_seconds{run=\"abc123\"} 0.5\n"));
    EXPECT_THAT(text(), HasSubstr("_last_success_timestamp_seconds{run=\"abc123\"} 7\n"));
}

TEST_F(RunMetrics, StayTwoMinutesAfterTheEndAndThenGo) {
    metrics_.update({observed(1, true, {{0, {{1}, step(1)}}})}, at(0));
    metrics_.update({observed(1, false)}, at(10));
    metrics_.update({observed(1, false)}, at(129));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_step{"));
    metrics_.update({observed(1, false)}, at(131));
    metrics_.update({observed(1, false)}, at(132));
    EXPECT_THAT(text(), Not(HasSubstr("abc123")));
}

TEST_F(RunMetrics, GoOnInTheNextAttemptOfTheJob) {
    metrics_.update({observed(1, true, {{0, {{1}, step(1)}}, {0, {{1}, step(2)}}})}, at(0));
    metrics_.update({observed(1, false)}, at(10));
    metrics_.update({observed(1, false), observed(2, true, {{0, {{1}, step(2)}}})}, at(20));
    metrics_.update({observed(1, false), observed(2, true, {{0, {{1}, step(3)}}})}, at(500));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_step{run=\"abc123\"} 3\n"));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_tokens_total{run=\"abc123\"} 300\n"));
}

// 2. Such a run was never exported: it was taken for one that had ended long ago.
TEST_F(RunMetrics, OfARunThatStartedAndEndedBetweenTwoLooksAreExported) {
    metrics_.start_from({}, at(0));
    metrics_.update({observed(1, false, {{0, {{1}, step(1)}}})}, at(1));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_step{run=\"abc123\"} 1\n"));
    metrics_.update({observed(1, false)}, at(122));
    metrics_.update({observed(1, false)}, at(123));
    EXPECT_THAT(text(), Not(HasSubstr("abc123")));
}

TEST_F(RunMetrics, OfRunsThatEndedBeforeTheDaemonStartedAreNotExported) {
    metrics_.start_from({observed(1, false, {{0, {{1}, step(1)}}})}, at(0));
    metrics_.update({observed(1, false)}, at(1));
    EXPECT_THAT(text(), Not(HasSubstr("abc123")));
}

TEST_F(RunMetrics, PleasePromtool) {
    if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
        GTEST_SKIP() << "promtool is not installed";
    }
    metrics_.update(
        {observed(1, true, {{0, {{1}, step(1)}}, {0, {{7}, CheckpointReport{1, "/c", 0.5}}}})},
        at(0));
    const TempDir dir;
    ASSERT_TRUE(replace_text_file(dir.path() + "/metrics", text()));
    const int failed = std::system(
        format("promtool check metrics <{}/metrics >{}/out 2>&1", dir.path(), dir.path()).c_str());
    EXPECT_EQ(failed, 0) << *read_text_file(dir.path() + "/out");
    EXPECT_EQ(*read_text_file(dir.path() + "/out"), "");
}

}  // namespace
}  // namespace rm
