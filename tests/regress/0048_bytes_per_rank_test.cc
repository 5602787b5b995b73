// 48. On resume rank 0 read the whole checkpoint, hashed, and then every rank its part again. Now
// each rank reads its part once and verifies it on the way. (`ring-checkpoint bench` does the same
// at the size of an 8B model.)
#include "engine/comm/communicator.h"
#include "engine/train/rank_engine.h"
#include "engine/train/save/checkpointer.h"
#include "tests/support/four_ranks.h"

namespace rm {
namespace {

class Regress0048 : public test::FourRanks {
protected:
    // The bytes that each rank of `mesh` reads of the newest checkpoint.
    std::vector<std::int64_t> bytes_read(const Mesh& mesh, int zero) {
        const int num_ranks = mesh.num_ranks();
        const auto hub = make_local_hub(num_ranks);
        std::vector<std::vector<std::int64_t>> seen(static_cast<std::size_t>(num_ranks));
        test::on_every_rank(num_ranks, [&](int rank) {
            const auto i = static_cast<std::size_t>(rank);
            const auto transport = make_local_transport(
                hub, {.rank = rank, .num_ranks = num_ranks, .peers = peers_of(mesh)[i]});
            const auto kernels = test::cpu_backend(1)();
            ProgressPage progress{};
            RankEngine engine(*kernels, *transport, progress,
                              {find_preset("micro").value(), mesh, rank, zero});
            Meeting meeting({rank, num_ranks}, engine.streams());
            Faults none;
            Checkpointer checkpointer({config_.checkpoint_dir, {2}, rank, num_ranks, 2},
                                      engine.streams(), meeting, engine.state(), none);
            seen[i] = checkpointer.restore().value().bytes_read;
        });
        return seen[0];
    }

    std::int64_t tensor_bytes() const {
        const Checkpoint whole = Checkpoint::open(checkpoint("e1-s3"), Verify::sizes).value();
        std::int64_t bytes = 0;
        for (const auto& [name, slice] : whole.tensors())
            bytes += num_bytes(slice);
        return bytes;
    }
};

TEST_F(Regress0048, EachRankReadsItsPartOnce) {
    ASSERT_TRUE(train(3).outcome.ok());
    const std::vector<std::int64_t> bytes = bytes_read(config_.plan.mesh, 3);
    ASSERT_EQ(bytes.size(), 4u);
    std::int64_t sum = 0;
    for (const std::int64_t mine : bytes) {
        EXPECT_LT(mine, tensor_bytes() * 3 / 10);
        sum += mine;
    }
    // Norms are on every rank.
    EXPECT_GE(sum, tensor_bytes());
    EXPECT_LT(sum, tensor_bytes() * 101 / 100);
}

// Ranks read other parts than were written: they verify whole blocks, so they read more than they
// use, but never all of it on every rank.
TEST_F(Regress0048, AnotherMeshReadsWhatItNeeds) {
    ASSERT_TRUE(train(3).outcome.ok());
    for (const std::int64_t mine : bytes_read(Mesh::make(1, 2, 1, 1).value(), 3))
        EXPECT_LT(mine, tensor_bytes() * 3 / 4);
}

}  // namespace
}  // namespace rm
