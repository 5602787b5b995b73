#include "worker/rank/report_line.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rm {
namespace {

Result<StepReport> read_step(std::string_view report) {
    RM_TRY(const ReportLine line,
           parse_report_line(format(R"({{"kind": "step", "time_us": 1, "report": {}}})", report)));
    return std::get<StepReport>(line.report);
}

TEST(Reports, SurviveJsonAndKeepANonFiniteLoss) {
    StepReport report;
    report.step = 3;
    report.loss = std::nan("");
    report.grad_norm = INFINITY;
    report.finite = false;
    report.phase_seconds = {{"forward", 0.25}};
    report.memory.add("weights", {123});
    report.memory.add("host weights", {456});
    report.axes = {{"gradient", {.bytes_sent = 1LL << 40, .wait_seconds = 0.5}},
                   {"tensor", {.bytes_sent = 7, .wait_seconds = 0}}};
    report.last_collective = "ring ring_shift";
    report.hops = {{3, {.bytes = 1LL << 33, .bytes_per_second = 1.25e9}}};
    report.peak_name = "fp32 200 GFLOP/s";
    const auto line = parse_report_line(to_json(ReportLine{{1}, report}));
    ASSERT_TRUE(line.ok()) << line.error().message;
    const StepReport& parsed = std::get<StepReport>(line->report);
    EXPECT_TRUE(std::isnan(parsed.loss));
    EXPECT_FALSE(std::isfinite(parsed.grad_norm));
    EXPECT_FALSE(parsed.finite);
    EXPECT_EQ(parsed.phase_seconds, report.phase_seconds);
    EXPECT_EQ(parsed.memory.total, Bytes{123});
    EXPECT_EQ(parsed.memory.by_kind.at("host weights"), Bytes{456});
    EXPECT_EQ(parsed.axes, report.axes);
    EXPECT_EQ(parsed.hops, report.hops);
    EXPECT_EQ(parsed.peak_name, report.peak_name);
    EXPECT_FALSE(read_step("{}").ok());
}

TEST(Reports, OfANewerVersionAreReadWithoutWhatTheyAdd) {
    const auto report =
        read_step(R"({"step": 7, "more": 1, "axes": {"ring": {"bytes_sent": 5, "retries": 2}}})");
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->step, 7);
    EXPECT_EQ(report->axes.at("ring").bytes_sent, 5);
    EXPECT_FALSE(read_step(R"({"step": 7, "axes": {"ring": {"bytes_sent": "5"}}})").ok());
}

}  // namespace
}  // namespace rm
