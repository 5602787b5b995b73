// NCCL's own failures, on the stand-in of tests/standins/nccl.
#include <gmock/gmock.h>

#include <cstdlib>

#include "engine/comm/nccl/nccl_groups.h"
#include "engine/comm/nccl/nccl_network.h"
#include "tests/engine/comm/communicator_rig.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using ::testing::AllOf;
using testing::filled;
using ::testing::HasSubstr;
using testing::mesh_of;
using testing::NetworkBody;
using testing::Rank;
using testing::run_networks;
using testing::Stopwatch;

class NcclFaults : public ::testing::Test {
protected:
    ~NcclFaults() override { ::unsetenv("RM_STANDIN_NCCL"); }

    void plant(const std::string& faults) {
        dir_.write("faults.json", R"({"faults": [)" + faults + "]}");
        ::setenv("RM_STANDIN_NCCL", dir_.file("faults.json").c_str(), 1);
    }
    // Plays three sums over a ring of three; returns the errors by rank.
    static std::vector<std::string> sum_thrice(Seconds timeout, Seconds connecting = Seconds{60}) {
        const Mesh mesh = mesh_of(1, 3, 1, 1);
        const NetworkBody body = [&](Network& network) {
            Rank rank(network, mesh);
            network.set_timeout(timeout);
            const Tensor x = filled(*rank.device, 1000, 1);
            for (int i = 0; i < 3; ++i)
                rank.communicator.all_reduce_sum(GroupKey::ring, x);
            rank.stream->synchronize();
        };
        return run_networks({.kind = "nccl", .num_ranks = 3, .timeout = connecting, .mesh = mesh},
                            body);
    }

    TempDir dir_;
};

TEST_F(NcclFaults, ARankThatNeverArrivesEndsTheCollectiveAtItsTimeout) {
    plant(R"({"size": 3, "rank": 1, "after": 1, "what": "absent"})");
    const Stopwatch watch;
    const auto errors = sum_thrice(Seconds{1});
    EXPECT_LT(watch.seconds(), 30);
    EXPECT_THAT(errors[0], AllOf(HasSubstr("ring all_reduce_sum"), HasSubstr("ranks 1 and 2"),
                                 HasSubstr("has not ended within 1.0 s")));
    EXPECT_THAT(errors[2], HasSubstr("ranks 0 and 1"));
}

TEST_F(NcclFaults, AnAsynchronousErrorEndsTheRankNamingItsPeers) {
    plant(R"({"size": 3, "rank": 2, "after": 1, "what": "error"},
             {"size": 3, "rank": 2, "after": 1, "what": "absent"})");
    const auto errors = sum_thrice(Seconds{1});
    EXPECT_THAT(errors[2], AllOf(HasSubstr("NCCL fails among ranks 0 and 1"),
                                 HasSubstr("remote process exited")));
    EXPECT_THAT(errors[0], HasSubstr("has not ended within 1.0 s"));
}

TEST_F(NcclFaults, ASlowLinkIsNoFailure) {
    plant(R"({"size": 3, "rank": 0, "what": "slow", "seconds_per_mib": 20})");
    for (const std::string& error : sum_thrice(Seconds{60}))
        EXPECT_EQ(error, "");
}

TEST_F(NcclFaults, ARankThatNeverConnectsIsWaitedForUntilTheTimeout) {
    plant(R"({"size": 3, "rank": 1, "what": "unconnected"})");
    const Stopwatch watch;
    const auto errors = sum_thrice(Seconds{60}, Seconds{3});
    EXPECT_LT(watch.seconds(), 30);
    EXPECT_THAT(errors[0],
                HasSubstr("NCCL has not connected to ranks 1 and 2 (ring) within 3.0 s"));
}

TEST(Nccl, IsAbortedFromAnotherThreadBeforeItsTimeout) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    const Stopwatch watch;
    const auto errors =
        run_networks({.kind = "nccl", .num_ranks = 2, .mesh = mesh}, [&](Network& network) {
            Rank rank(network, mesh);
            if (network.rank() == 0) rank.communicator.barrier(GroupKey::world);
            network.abort("the compute stream failed");
            rank.stream->synchronize();
        });
    EXPECT_LT(watch.seconds(), 30);
    EXPECT_THAT(errors[0], HasSubstr("the compute stream failed"));
}

// Groups of the same ranks share a communicator: of a mesh of one ring, five groups are one.
TEST(Nccl, ConnectsEachSetOfRanksOnce) {
    EXPECT_EQ(nccl::own_groups(mesh_of(1, 3, 1, 1), 0).size(), 1u);
    EXPECT_EQ(nccl::own_groups(mesh_of(2, 2, 1, 2), 5).size(), 5u);
    EXPECT_EQ(nccl::own_groups(mesh_of(1, 1, 1, 1), 0).size(), 0u);
}

}  // namespace
}  // namespace rm
