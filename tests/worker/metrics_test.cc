#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "kernels/device.h"
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
                     {"tensor", {.bytes_sent = 32, .wait_seconds = 0.125}}},
            .h2d_bytes = 300,
            .d2h_bytes = 200,
            .fp8 = {{"d_key", {.flushed = 0.25, .saturated = 0.125, .error = 0.0625, .layer = 1}}},
            .fp8_fallback_layers = 2,
            .fp8_fallbacks = 3};
}

// A step with every axis, every kind of memory in both places and every phase.
StepReport full_step() {
    StepReport full = step(1);
    for (const char* axis : {"ring", "ulysses", "tensor", "gradient", "world"})
        full.axes[axis] = {.bytes_sent = 1, .wait_seconds = 0.01};
    for (std::size_t kind = 0; kind < kNumMemoryKinds; ++kind) {
        const std::string name(to_string(static_cast<MemoryKind>(kind)));
        full.memory.by_kind[name] = {1};
        full.memory.by_kind[on_host(name)] = {1};
    }
    for (const char* phase : {"attention", "gemm", "checkpoint", "optimizer", "data", "idle"})
        full.phase_seconds[phase] = 0.01;
    for (const char* axis : {"ring", "offload", "ulysses", "tensor", "gather", "reduce"})
        full.phase_seconds[exposed_phase(axis)] = 0.01;
    return full;
}

// Half of the answers are right at each length.
SuiteReport suite_of(std::int64_t lengths) {
    SuiteReport report{.suite = "niah", .name = "far"};
    for (std::int64_t length = 1; length <= lengths; ++length) {
        report.cells.push_back({"niah", length, 0, 1, 1, 0});
        report.cells.push_back({"niah", length, 1, 1, 0, 0});
    }
    return report;
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
    std::string text() { return metrics_.response().body; }
    WorkerMetrics metrics_{NodeId{"n1"}, {.device_memory = {{0, {1 << 20}}, {1, {2 << 20}}}}};
};

TEST_F(RunMetrics, HaveOneOwnerPerSeries) {
    metrics_.update({observed(1, true,
                              {{0, {{1'000'000}, step(1)}},
                               {0, {{2'500'000}, step(2)}},
                               {0, {{2'500'000}, EvaluationReport{.step = 2, .loss = 3.5}}},
                               {0, {{2'500'000}, suite_of(40)}},
                               {3, {{2'500'000}, step(2)}}})},
                    at(0));
    EXPECT_EQ(text().find("length=\"17\""), std::string::npos) << "of many lengths some";
    for (const char* line : {
             "ringmaster_train_step{run=\"abc123\"} 2",
             "ringmaster_train_tokens_total{run=\"abc123\"} 200",
             "ringmaster_train_flops_total{run=\"abc123\"} 2000",
             "ringmaster_train_loss{run=\"abc123\"} 2.5",
             "ringmaster_train_held_out_loss{run=\"abc123\"} 3.5",
             "ringmaster_train_suite_score_ratio{length=\"2\",run=\"abc123\",suite=\"far\"} 0.5",
             "ringmaster_train_suite_score_ratio{length=\"40\",run=\"abc123\",suite=\"far\"} 0.5",
             "ringmaster_train_learning_rate{run=\"abc123\"} 0.25",
             "ringmaster_train_mfu_ratio{convention=\"causal\",run=\"abc123\"} 0.5",
             "ringmaster_train_mfu_ratio{convention=\"full\",run=\"abc123\"} 0.75",
             "ringmaster_train_hfu_ratio{run=\"abc123\"} 0.625",
             "ringmaster_train_step_duration_seconds_count{run=\"abc123\"} 2",
             "ringmaster_train_phase_seconds_total{phase=\"forward\",run=\"abc123\"} 0.25",
             "ringmaster_train_last_step_timestamp_seconds{run=\"abc123\"} 2.5",
             "ringmaster_train_nonfinite_steps_total{run=\"abc123\"} 0",
             "ringmaster_train_fp8_error_ratio{run=\"abc123\",tensor=\"d_key\"} 0.0625",
             "ringmaster_train_fp8_flushed_ratio{run=\"abc123\",tensor=\"d_key\"} 0.25",
             "ringmaster_train_fp8_saturated_ratio{run=\"abc123\",tensor=\"d_key\"} 0.125",
             "ringmaster_train_fp8_fallback_layers{run=\"abc123\"} 2",
             "ringmaster_train_fp8_fallbacks_total{run=\"abc123\"} 3",
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
             "ringmaster_host_offload_bytes{gpu=\"0\",node=\"n1\",rank=\"3\",run=\"abc123\"} 512",
             "ringmaster_h2d_bytes_total{gpu=\"1\",node=\"n1\",rank=\"0\",run=\"abc123\"} 600",
             "ringmaster_d2h_bytes_total{gpu=\"0\",node=\"n1\",rank=\"3\",run=\"abc123\"} 200",
             "ringmaster_device_memory_capacity_bytes{gpu=\"1\",node=\"n1\",rank=\"0\",run="
             "\"abc123\"} 2097152",
             "ringmaster_train_median_step_seconds{run=\"abc123\"} 0.5",
         }) {
        EXPECT_THAT(text(), HasSubstr(std::string(line) + "\n"));
    }
    EXPECT_THAT(text(), Not(HasSubstr("kind=\"host "))) << "host memory is no device memory";
    EXPECT_THAT(text(), Not(HasSubstr("axis=\"ulysses\""))) << "it has not moved anything";
    EXPECT_THAT(text(), Not(HasSubstr("ringmaster_train_checkpoint_duration_seconds{")));
}

TEST_F(RunMetrics, SayHowLongARankWorkedWithoutWaitingForOthers) {
    StepReport waiting = step(1);
    waiting.phase_seconds = {{"gemm", 0.2}, {"ring_exposed", 0.2}, {"reduce_exposed", 0.05}};
    metrics_.update({observed(1, true, {{0, {{1}, step(1)}}, {3, {{1}, waiting}}})}, at(0));
    EXPECT_THAT(text(), HasSubstr("ringmaster_rank_work_seconds{gpu=\"1\",node=\"n1\",rank=\"0\","
                                  "run=\"abc123\"} 0.5\n"));
    EXPECT_THAT(text(), HasSubstr("ringmaster_rank_work_seconds{gpu=\"0\",node=\"n1\",rank=\"3\","
                                  "run=\"abc123\"} 0.25\n"));
}

// 3. The energy of a GPU counted from the first step report on: loading a model used none.
TEST_F(RunMetrics, CountTheEnergyOfARankBeforeItsFirstStep) {
    const auto look = [&](double joules) {
        GpuReading reading{.index = 1};
        reading.state.joules = joules;
        metrics_.update({reading});
    };
    look(1000);
    metrics_.update({observed(1, true)}, at(0));
    look(1500);
    EXPECT_THAT(text(), HasSubstr("ringmaster_rank_energy_joules_total{gpu=\"1\",node=\"n1\","
                                  "rank=\"0\",run=\"abc123\"} 500\n"));
}

TEST_F(RunMetrics, HaveTheMedianOfTheLast32Steps) {
    std::vector<RankReport> reports;
    for (int number = 1; number <= 80; ++number) {
        StepReport one = step(number);
        one.seconds = number <= 48 ? 100 : number - 48;
        reports.push_back({0, {{number}, one}});
    }
    metrics_.update({observed(1, true, std::move(reports))}, at(0));
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_median_step_seconds{run=\"abc123\"} 17\n"));
}

TEST_F(RunMetrics, SayWhenTheNextCheckpointIsDue) {
    const auto due = [&](std::int64_t number, std::int64_t due_step, std::int64_t second) {
        StepReport one = step(number);
        one.checkpoint_due_step = due_step;
        metrics_.update({observed(1, true, {{0, {{second * 1'000'000}, one}}})}, at(0));
        const std::string all = text();
        const std::string name =
            "ringmaster_train_checkpoint_due_timestamp_seconds{run=\"abc123\"} ";
        const std::size_t found = all.find(name);
        return found == std::string::npos ? 0 : std::stod(all.substr(found + name.size()));
    };
    EXPECT_EQ(due(1, 0, 10), 0) << "the run makes none";
    EXPECT_EQ(due(2, 10, 20), 20 + 8 * 0.5 + 0.5) << "it is written during the next step";
    metrics_.update({observed(1, true, {{0, {{25'000'000}, CheckpointReport{10, "/c", 3}}}})},
                    at(0));
    EXPECT_EQ(due(12, 20, 30), 30 + 8 * 0.5 + 3) << "or for as long as the last took";
    EXPECT_EQ(due(22, 20, 35), 35 - 2 * 0.5 + 3);
    EXPECT_EQ(due(24, 20, 36), 36 - 4 * 0.5 + 3) << "a late one stays where it was due";
    metrics_.update({observed(1, false)}, at(10));
    EXPECT_THAT(text(), Not(HasSubstr("checkpoint_due_timestamp_seconds{"))) << "it has ended";
    EXPECT_THAT(text(), HasSubstr("ringmaster_train_step{")) << "its values stay for a while";
}

TEST_F(RunMetrics, OfTheMachineAreThereWithoutARun) {
    for (const char* name : {"disk_free", "disk_capacity", "memory_available", "memory_capacity"}) {
        const std::string all = text();
        const std::string series = format("ringmaster_node_{}_bytes{{node=\"n1\"}} ", name);
        const std::size_t found = all.find(series);
        ASSERT_NE(found, std::string::npos) << series << "\n" << all;
        EXPECT_GT(std::stod(all.substr(found + series.size())), 0) << name;
    }
}

// 512 ranks on 64 nodes: what their workers export together.
TEST_F(RunMetrics, AreBoundedByTheNumberOfRanks) {
    constexpr int kRanks = 512, kNodes = 64, kPerNode = kRanks / kNodes;
    std::int64_t series = 0;
    for (int node = 0; node < kNodes; ++node) {
        WorkerMetrics worker(NodeId{format("n{}", node)}, {.device_memory = {{0, {1 << 30}}}});
        Observation seen = observed(1, true);
        seen.status.ranks.clear();
        for (int i = 0; i < kPerNode; ++i) {
            const int rank = node * kPerNode + i;
            seen.status.ranks.push_back({.rank = rank, .device = i});
            seen.reports.push_back({rank, {{1}, full_step()}});
        }
        worker.update({seen}, at(0));
        const std::string all = worker.response().body;
        for (std::size_t found = all.find("run=\"abc123\""); found != std::string::npos;
             found = all.find("run=\"abc123\"", found + 1))
            ++series;
    }
    std::printf("%d ranks: %lld series of the run, %.1f per rank\n", kRanks,
                static_cast<long long>(series), static_cast<double>(series) / kRanks);
    EXPECT_LE(series, kRanks * 32 + 120);
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
