#include "spec/report.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

StepReport sample() {
    StepReport report;
    report.step = 17;
    report.num_steps = 50;
    report.tokens = 131072;
    report.loss = 2.81131;
    report.grad_norm = 0.944;
    report.seconds = 0.412;
    return report;
}

TEST(ConnectedLine, NamesTheNeighboursOfEachRingAndTheirAddresses) {
    ConnectedReport report{.rank = 2,
                           .address = "10.77.0.3",
                           .peers = {{1, {"10.77.0.3:4000", "10.77.0.4:512"}},
                                     {3, {"10.77.0.3:513", "10.77.0.5:4001"}}},
                           .rings = {{"ring", {.sends_to = 3, .receives_from = 1}}}};
    EXPECT_EQ(connected_line(report),
              "rank 2 at 10.77.0.3 sends to rank 3 at 10.77.0.5 and receives from rank 1 at "
              "10.77.0.4");
    report.rings = {{"ring_inner", {3, 3}}, {"ring_outer", {1, 1}}};
    EXPECT_EQ(connected_line(report),
              "rank 2 at 10.77.0.3 in ring_inner sends to rank 3 at 10.77.0.5 and receives from "
              "rank 3 at 10.77.0.5; in ring_outer sends to rank 1 at 10.77.0.4 and receives from "
              "rank 1 at 10.77.0.4");
    report.rings.clear();
    EXPECT_EQ(connected_line(report),
              "rank 2 at 10.77.0.3 is connected to rank 1 at 10.77.0.4, rank 3 at 10.77.0.5");
}

TEST(ConnectedLine, HasNoAddressesWhereThereAreNone) {
    EXPECT_EQ(connected_line({.rank = 0, .address = "", .peers = {}, .rings = {{"ring", {1, 2}}}}),
              "rank 0 sends to rank 1 and receives from rank 2");
    EXPECT_EQ(connected_line({.rank = 0,
                              .address = "fd00::3",
                              .peers = {{1, {"[fd00::3]:4000", "[fd00::4]:512"}}},
                              .rings = {}}),
              "rank 0 at fd00::3 is connected to rank 1 at [fd00::4]");
}

TEST(ConnectedLine, NamesSharedMemory) {
    const std::string shared(kSharedMemory);
    EXPECT_EQ(
        connected_line({.rank = 2,
                        .address = "10.77.0.3",
                        .peers = {{1, {"10.77.0.3:4000", "10.77.0.4:512"}}, {3, {shared, shared}}},
                        .rings = {{"ring", {.sends_to = 3, .receives_from = 1}}}}),
        "rank 2 at 10.77.0.3 sends to rank 3 through shared memory and receives from rank 1 "
        "at 10.77.0.4");
}

TEST(StepLine, LeavesOutWhatIsNotKnown) {
    EXPECT_EQ(step_line(sample()), "step 17/50  loss 2.8113  grad 0.94  412 ms  318k tok/s");
    EXPECT_TRUE(step_constants(sample()).empty());
}

TEST(StepLine, EndsWithTheAxisThatComputeWaitsForMost) {
    StepReport report = sample();
    report.causal_mfu = 0.461;
    report.peak_name = "bf16 362T";
    report.memory.total = {41LL << 30};
    report.axes = {{"gradient", {.bytes_sent = 512LL << 20, .wait_seconds = 0.000412}},
                   {"ring", {.bytes_sent = 3LL << 30, .wait_seconds = 0.01236}},
                   {"tensor", {.bytes_sent = 1LL << 30, .wait_seconds = 0.00824}},
                   {"ulysses", {.bytes_sent = 0, .wait_seconds = 0}},
                   {"world", {.bytes_sent = 64, .wait_seconds = 0.1}}};
    EXPECT_EQ(step_line(report),
              "step 17/50  loss 2.8113  grad 0.94  412 ms  318k tok/s  MFU 46.1%  mem 41.0 GiB"
              "  waits 5.1% (ring 3%)");
    EXPECT_EQ(step_constants(report),
              (std::vector<std::string>{"MFU counts causal attention; its peak is bf16 362T",
                                        "each rank uses 41.0 GiB; each step sends ring 3.0 GiB, "
                                        "tensor 1.0 GiB, gradient 512.0 MiB"}));
    report.axes["ulysses"] = {.bytes_sent = 2048, .wait_seconds = 1};
    EXPECT_TRUE(step_line(report).ends_with("waits 100.0% (ulysses 100%)"));
}

TEST(StepLine, HasAtMost120Columns) {
    StepReport report = sample();
    report.step = 999'999;
    report.num_steps = 999'999;
    report.loss = 12.3456;
    report.grad_norm = 1234.56;
    report.causal_mfu = 0.461;
    report.memory.total = {41LL << 30};
    report.axes = {{"gradient", {.bytes_sent = 512LL << 20, .wait_seconds = 0.2}}};
    EXPECT_LE(step_line(report).size(), 120u) << step_line(report);
}

TEST(StepLine, SaysWhenTheUpdateWasSkipped) {
    StepReport report = sample();
    report.finite = false;
    report.seconds = 0;
    EXPECT_EQ(step_line(report),
              "step 17/50  loss 2.8113  grad 0.94  0 us  - tok/s  not finite: update skipped");
}

TEST(EvaluationLine, SetsTheLossBesideTheTextsOwnEntropies) {
    const EvaluationReport report{
        .step = 100, .targets = 65536, .loss = 2.8, .unigram_entropy = 3.4, .bigram_entropy = 2.6};
    EXPECT_EQ(evaluation_line(report),
              "validation at step 100: 2.8000 nats/byte on 65536 held-out bytes (baselines: "
              "unigram 3.400, "
              "bigram 2.600)");
}

TEST(SuiteLine, HasTheMeanOfEachLength) {
    SuiteReport report{.step = 100, .suite = "niah", .name = "far", .seconds = 12};
    report.cells = {{"niah", 16384, 0, 4, 1, 0.1},
                    {"niah", 4096, 0, 4, 1, 0.1},
                    {"niah", 16384, 1, 4, 0.25, 0.1}};
    EXPECT_EQ(suite_line(report),
              "far at step 100: 100.0% right at 4096 tokens, 62.5% at 16384 tokens (on 12 texts, "
              "12.0 s)");
    ASSERT_EQ(suite_means(report).size(), 2u);
    EXPECT_EQ(suite_means(report)[1].cells, 2);
    EXPECT_EQ(suite_means(report)[1].score, 0.625);
    EXPECT_EQ(suite_means(report)[1].loss, 0.1);
}

TEST(StepPhase, IsExposedOrNotInItsWord) {
    const std::string word = exposed_phase("ring");  // its name is a part of it
    const auto [name, exposed] = step_phase(word);
    EXPECT_EQ(name, "ring");
    EXPECT_TRUE(exposed);
    EXPECT_EQ(exposed_phase("ring"), "ring_exposed") << "stored reports say so";
    EXPECT_EQ(step_phase("gemm").name, "gemm");
    EXPECT_FALSE(step_phase("gemm").exposed);
}

TEST(MemoryName, SaysWhereItIsInItsWord) {
    MemoryReport report;
    report.add("weights", {3});
    report.add(on_host("weights"), {4});
    EXPECT_EQ(report.by_kind.at("host weights"), Bytes{4}) << "stored reports say so";
    EXPECT_EQ(report.total, Bytes{3});
    EXPECT_EQ(report.host_total(), Bytes{4});
    EXPECT_EQ(memory_name("host weights").kind, "weights");
    EXPECT_FALSE(memory_name("weights").on_host);
}

TEST(ReportText, StagesCountFromOneForPeople) {
    EXPECT_EQ(stage_done_line(0, 120), "stage 1 done at step 120");
}

}  // namespace
}  // namespace rm
