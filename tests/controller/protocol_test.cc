#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "controller/core/input.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/convert/convert.h"

// Messages that programs of each protocol sent (tests/golden/protocol) keep their meaning.
namespace rm::test {
namespace {

class StoredMessage : public ::testing::TestWithParam<int> {
protected:
    template <typename Wire>
    auto read(const std::string& name) {
        std::ostringstream bytes;
        bytes << std::ifstream(format("{}/{}/{}.bin", RM_MESSAGES, GetParam(), name),
                               std::ios::binary)
                     .rdbuf();
        Wire wire;
        RM_CHECK(!bytes.str().empty() && wire.ParseFromString(bytes.str()), "{} is damaged", name);
        auto message = from_proto(wire);
        RM_CHECK(message.ok(), "{}", message.error().message);
        return *message;
    }
    bool is_old() const { return GetParam() < 2; }
};

TEST_P(StoredMessage, AHelloIsUnderstoodAndServed) {
    const Hello hello = std::get<Hello>(read<pb::WorkerMessage>("hello"));
    EXPECT_EQ(hello.protocol, static_cast<std::uint32_t>(GetParam()));
    EXPECT_EQ(hello.node, NodeId{"n1"});
    EXPECT_EQ(hello.highest_epoch, Epoch{7});
    EXPECT_EQ(hello.inventory.devices[1].num_threads, 4);
    const RankStatus& rank = hello.attempts.at(0).ranks.at(0);
    EXPECT_TRUE(rank.training);
    EXPECT_EQ(rank.step, 12);
    EXPECT_EQ(rank.waits_for, is_old() ? -1 : 0);
    EXPECT_EQ(rank.collectives_left, is_old() ? 0 : 8);
    EXPECT_EQ(hello.launches.size(), is_old() ? 0u : 1u);
    if (hello.protocol + 1 < kProtocol) return;  // out of service by now
    const Status served = check_hello(hello, {"c0ffee"});
    EXPECT_TRUE(served) << served.error().message;
}

TEST_P(StoredMessage, AStatusIsUnderstood) {
    const auto status = std::get<AttemptStatus>(read<pb::WorkerMessage>("status"));
    EXPECT_EQ(status.job, JobId{"abc123"});
    EXPECT_EQ(status.checkpoint_step, 10);
    EXPECT_EQ(status.stages_done, 1);
    EXPECT_FALSE(status.processes_left);
    EXPECT_EQ(status.ranks.at(0).exit_code, kRankFailed);
    EXPECT_EQ(status.ranks.at(0).error, "out of cheese");
    EXPECT_EQ(status.ranks.at(0).exit_order_mono_nanos, 42);
}

TEST_P(StoredMessage, ALaunchIsUnderstood) {
    const auto launch = std::get<LaunchAttempt>(read<pb::ControllerMessage>("launch"));
    EXPECT_EQ(launch.epoch, Epoch{7});
    EXPECT_EQ(launch.plan.mesh, Mesh::make(1, 2, 1, 1).value());
    EXPECT_EQ(launch.plan.zero, 2);
    EXPECT_EQ(launch.plan.memory.chunk_tokens, 128);
    EXPECT_EQ(launch.plan.collective_timeout, Seconds{60});
    EXPECT_EQ(launch.spec.seed, 7u);
    EXPECT_EQ(launch.spec.data.sources.at(0).path, "/data/a");
    EXPECT_EQ(launch.spec.stages.at(0).schedule, Schedule::cosine);
    EXPECT_EQ(launch.spec.retry, RetrySpec{}) << "as of a job file that does not say";
    EXPECT_EQ(launch.owner, is_old() ? "" : "ada");
}

TEST_P(StoredMessage, RootsAreUnderstood) {
    const Hello hello = std::get<Hello>(read<pb::WorkerMessage>("hello"));
    if (GetParam() < 3) {
        EXPECT_TRUE(hello.roots.empty());
        return;
    }
    ASSERT_EQ(hello.roots.size(), 2u);
    EXPECT_EQ(hello.roots[0], (RootInfo{.name = "ckpt",
                                        .path = "/mnt/shared",
                                        .mount = "42:2",
                                        .writable = true,
                                        .free = {1LL << 40},
                                        .write_per_second = {1'000'000'000}}));
    EXPECT_EQ(hello.roots[1].problem, "No such file or directory");
    const auto report = std::get<RootsReport>(read<pb::WorkerMessage>("roots"));
    EXPECT_EQ(report.roots.at(0).free, Bytes{5});
}

TEST_P(StoredMessage, QuestionsAboutFilesAndTheirAnswersAreUnderstood) {
    if (GetParam() < 3) return;
    const auto check = std::get<CheckFiles>(read<pb::ControllerMessage>("check_files"));
    EXPECT_EQ(
        check,
        (CheckFiles{"k", {{FileUse::model, "models:llama"}, {FileUse::checkpoint, "ckpt:runs"}}}));
    const auto checked = std::get<FilesChecked>(read<pb::WorkerMessage>("files"));
    ASSERT_EQ(checked.files.size(), 3u);
    EXPECT_EQ(checked.files[0].parameters, 8'030'261'248);
    EXPECT_EQ(checked.files[0].index, "0123abcd");
    EXPECT_EQ(checked.files[1].below, "runs");
    EXPECT_EQ(checked.files[1].free, Bytes{4096});
    EXPECT_EQ(checked.files[2].problem, "No such file or directory");
    const auto probe = std::get<ProbeRoot>(read<pb::ControllerMessage>("probe_root"));
    EXPECT_EQ(probe, (ProbeRoot{"ckpt", "c0ffee-1-2", ProbeStep::look}));
    const auto probed = std::get<RootProbed>(read<pb::WorkerMessage>("probed"));
    EXPECT_TRUE(probed.found);
}

INSTANTIATE_TEST_SUITE_P(EveryProtocol, StoredMessage,
                         ::testing::Range(1, static_cast<int>(kProtocol) + 1));

}  // namespace
}  // namespace rm::test
