#include "worker/probe/gpu_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/worker/support.h"
#include "worker/dir/files.h"
#include "worker/probe/prober.h"

namespace rm {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string worker_path() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" /
            "ringmaster-worker")
        .string();
}

// Three emulated GPUs; two of them below one bridge.
class GpuProbe : public ::testing::Test {
protected:
    std::unique_ptr<InsideProbe> probe(std::vector<std::string> command, Seconds limit = {60}) {
        return make_gpu_inside_probe({.request = request_,
                                      .command = std::move(command),
                                      .limit = limit,
                                      .why_not = [this] { return why_not_; }},
                                     state_);
    }

    const TempDir temp_;
    const GpuProbeRequest request_{
        .library = DeviceLibrary::emu,
        .gpus = {{0, "", "0000:40:01.0"}, {2, "", "0000:40:01.0"}, {3, "", "0000:80:01.0"}},
        .path = temp_.path() + "/probe.json",
        .size = {1 << 16},
        .each = {0.002}};
    GpuProbeState state_;
    std::string why_not_;
};

TEST_F(GpuProbe, MeasuresEveryDeviceWithTheHostAndEveryPairInAChild) {
    const auto found = probe({worker_path(), "probe"})->measure();
    ASSERT_TRUE(found) << found.error().message;
    std::set<std::pair<int, int>> ways;
    for (const InsideSample& sample : found->samples) {
        ways.insert({sample.from, sample.to});
        EXPECT_GT(sample.rate.value, 0);
        EXPECT_GT(sample.latency.value, 0);
        EXPECT_GE(sample.bytes, request_.size);
    }
    EXPECT_THAT(ways, UnorderedElementsAre(std::pair(-1, 0), std::pair(-1, 2), std::pair(-1, 3),
                                           std::pair(0, -1), std::pair(2, -1), std::pair(3, -1),
                                           std::pair(0, 2), std::pair(0, 3), std::pair(2, 0),
                                           std::pair(2, 3), std::pair(3, 0), std::pair(3, 2)));
    EXPECT_EQ(found->samples.size(), ways.size());
    EXPECT_FALSE(state_.runs);
}

TEST_F(GpuProbe, MeasuresTheDevicesOfABridgeTogether) {
    const auto found = probe({worker_path(), "probe"})->measure();
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->bridges.size(), 1u) << "one device alone shares nothing";
    EXPECT_EQ(found->bridges[0].name, "0000:40:01.0");
    EXPECT_EQ(found->bridges[0].devices, (std::vector{0, 2}));
    EXPECT_GT(found->bridges[0].up.value, 0);
    EXPECT_GT(found->bridges[0].down.value, 0);
}

TEST_F(GpuProbe, IsRefusedWhileARankRuns) {
    why_not_ = "a job runs here";
    Prober prober(probe({"/bin/false"}));
    std::mutex mutex;
    std::vector<ProbeReport> reports;
    prober.start([&](const ProbeReport& report) {
        const std::lock_guard lock(mutex);
        reports.push_back(report);
    });
    prober.run({.id = 5, .kind = ProbeKind::node});
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard lock(mutex);
        return !reports.empty();
    }));
    prober.stop();
    EXPECT_EQ(reports.at(0).id, 5u);
    EXPECT_EQ(reports.at(0).error, "GPUs are not probed: a job runs here");
    EXPECT_TRUE(reports.at(0).inside.empty());
}

TEST_F(GpuProbe, EndsWhenARankStartsAndWhenTheWorkerStops) {
    const auto sleeper = probe({"/bin/sh", "-c", "touch " + temp_.path() + "/begun; sleep 100"});
    const auto begun = [&] { return std::filesystem::exists(temp_.path() + "/begun"); };
    std::thread owner([&] {
        EXPECT_TRUE(eventually(begun));
        EXPECT_TRUE(state_.runs);
        state_.must_end = true;
    });
    const auto stopped = sleeper->measure();
    owner.join();
    EXPECT_EQ(stopped.error().message, "the probe of the GPUs: the worker is asked to stop");
    EXPECT_FALSE(state_.runs);
}

TEST_F(GpuProbe, SaysWhyItsChildFailed) {
    const auto failed = probe({"/bin/sh", "-c", "echo no driver >&2; exit 1"})->measure();
    EXPECT_EQ(failed.error().message,
              "the probe of the GPUs: it ended with exit code 1: no driver");
    const auto late = probe({"/bin/sh", "-c", "sleep 100"}, {0.05})->measure();
    EXPECT_THAT(late.error().message, HasSubstr("it has not ended after 50 ms"));
}

TEST_F(GpuProbe, RequestsAndFindingsComeBackAsTheyWereWritten) {
    EXPECT_EQ(parse_gpu_probe_request(to_json(request_)).value(), request_);
    EXPECT_EQ(parse_gpu_probe_request("{}").error().code, ErrorCode::invalid_argument);
    const InsideFindings findings{.samples = {{-1, 2, {180.5}, {1e-5}, {1 << 20}, {0.01}}},
                                  .bridges = {{"0000:40:01.0", {0, 2}, {200}, {210}}}};
    EXPECT_EQ(parse_inside_findings(to_json(findings)).value(), findings);
    EXPECT_EQ(parse_inside_findings("{}").error().code, ErrorCode::data_loss);
}

}  // namespace
}  // namespace rm
