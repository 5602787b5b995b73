// Runs programs of many collectives on all of a rank's groups.
#include "base/random.h"
#include "tests/engine/comm/communicator_rig.h"

namespace rm {
namespace {

using testing::all_peers;
using testing::Cluster;
using testing::Communicators;
using testing::mesh_of;
using testing::Rank;
using testing::run_all_networks;

// One collective of a program on one of the groups; `result` receives what it computes.
struct Step {
    GroupKey key;
    CommOp op;
    std::int64_t count;

    // Element i of `rank` before the step; small integers, so that sums are exact.
    static float value(int rank, std::int64_t i) {
        return static_cast<float>((rank + 3) * static_cast<int>(i % 5 + 1));
    }
    Tensor operand(Device& device, int rank) const {
        Tensor tensor(device, MemoryKind::communication, DType::f32, {count});
        for (std::int64_t i = 0; i < count; ++i)
            tensor->as<float>()[i] = value(rank, i);
        return tensor;
    }

    void queue(Communicator& communicator, const TensorView& x, const TensorView& result) const {
        switch (op) {
            case CommOp::ring_shift:
                return communicator.ring_shift(key, x, result);
            case CommOp::all_to_all:
                return communicator.all_to_all(key, x, result);
            case CommOp::all_reduce_sum:
                return communicator.all_reduce_sum(key, result);
            case CommOp::reduce_scatter_sum:
                return communicator.reduce_scatter_sum(key, result);
            case CommOp::all_gather:
                return communicator.all_gather(key, result);
            case CommOp::broadcast:
                return communicator.broadcast(key, result, communicator.group(key).size() - 1);
            case CommOp::barrier:
                return communicator.barrier(key);
        }
    }

    float expected(const Group& group, std::int64_t i) const {
        const int me = group.ranks[static_cast<std::size_t>(group.index)];
        const std::int64_t block = count / group.size();
        const auto owner = static_cast<std::size_t>(i / block);
        float sum = 0;
        for (const int rank : group.ranks)
            sum += value(rank, i);
        switch (op) {
            case CommOp::ring_shift:
                return value(group.size() == 1 ? me : group.previous(), i);
            case CommOp::all_to_all:
                return owner == static_cast<std::size_t>(group.index)
                           ? value(me, i)
                           : value(group.ranks[owner], group.index * block + i % block);
            case CommOp::all_reduce_sum:
            case CommOp::reduce_scatter_sum:
                return sum;
            case CommOp::all_gather:
                return value(group.ranks[owner], i);
            case CommOp::broadcast:
                return value(group.ranks.back(), i);
            case CommOp::barrier:
                break;
        }
        return value(me, i);
    }

    void check(const Group& group, const TensorView& result) const {
        const Part own = part_of(count, group.size(), group.index);
        const bool scattered = op == CommOp::reduce_scatter_sum;
        for (std::int64_t i = scattered ? own.first : 0;
             i < (scattered ? own.first + own.count : count); ++i) {
            ASSERT_EQ(result.as<float>()[i], expected(group, i))
                << to_string(key) << " " << to_string(op) << " element " << i << " of " << count;
        }
    }
};

// A rank is in all of these groups at once; with one program order no rank waits for itself.
TEST_P(Communicators, PlayAnyProgramThatIsTheSameOnEveryRank) {
    const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
    SCOPED_TRACE(seed);
    for (const Mesh& mesh : {mesh_of(1, 4, 1, 2, 2), mesh_of(2, 1, 2, 2), mesh_of(1, 2, 3, 1)}) {
        SCOPED_TRACE(to_string(mesh));
        std::vector<Step> program;
        Rng rng(seed);
        for (int i = 0; i < 40; ++i) {
            program.push_back({kGroupKeys[rng.below(kGroupKeys.size())],
                               static_cast<CommOp>(rng.below(kNumCommOps)),
                               static_cast<std::int64_t>(24 * (1 + rng.below(20)))});
        }
        Cluster connected = cluster(mesh);
        connected.peers = all_peers(mesh.num_ranks());
        run_all_networks(connected, [&](Network& network) {
            Rank rank(network, mesh);
            std::vector<Tensor> operands, results;
            for (const Step& step : program) {
                operands.push_back(step.operand(*rank.device, network.rank()));
                results.push_back(step.operand(*rank.device, network.rank()));
                step.queue(rank.communicator, operands.back(), results.back());
            }
            rank.stream->synchronize();
            for (std::size_t i = 0; i < program.size(); ++i)
                program[i].check(rank.communicator.group(program[i].key), results[i]);
            EXPECT_EQ(rank.noting.bytes_by_name(), rank.communicator.counters().bytes_sent);
        });
    }
}

}  // namespace
}  // namespace rm
