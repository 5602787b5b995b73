// Collectives declare the memory they touch and the bytes they send.
#include "engine/comm/staged_communicator.h"
#include "tests/engine/comm/communicator_rig.h"

namespace rm {
namespace {

using testing::Communicators;
using testing::filled;
using testing::mesh_of;
using testing::Rank;
using testing::run_all_networks;
using testing::StagedCommunicators;

// Element ranges of a tensor.
using Elements = std::vector<std::pair<std::int64_t, std::int64_t>>;
Elements elements_of(const std::vector<MemoryRange>& ranges, const TensorView& x) {
    Elements found;
    for (const MemoryRange& range : ranges) {
        const std::int64_t first = static_cast<const float*>(range.data) - x.as<float>();
        if (range.size > Bytes{0}) found.emplace_back(first, first + range.size.value / 4);
    }
    return found;
}

TEST_P(StagedCommunicators, SayWhichPartsTheyTouch) {
    const Mesh mesh = mesh_of(1, 4, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const std::int64_t me = network.rank();
        const Tensor x = filled(*rank.device, 8, 1);
        rank.communicator.all_gather(GroupKey::ring, x);
        rank.communicator.broadcast(GroupKey::ring, x, 1);
        rank.communicator.all_reduce_sum(GroupKey::ring, x);
        rank.communicator.reduce_scatter_sum(GroupKey::ring, x);
        rank.communicator.barrier(GroupKey::ring);
        rank.stream->synchronize();
        const auto& notes = rank.noting.notes();
        Elements others = {{0, 2 * me}, {2 * me + 2, 8}};
        std::erase_if(others, [](const auto& range) { return range.first == range.second; });
        EXPECT_EQ(elements_of(notes[0].reads, x), (Elements{{2 * me, 2 * me + 2}}));
        EXPECT_EQ(elements_of(notes[0].writes, x), others);
        EXPECT_EQ(elements_of(me == 1 ? notes[1].reads : notes[1].writes, x), (Elements{{0, 8}}));
        EXPECT_EQ(notes[1].reads.size() + notes[1].writes.size(), 1U);
        // A sum also writes the scratch that all sums share.
        for (const std::size_t sum : {2, 3}) {
            ASSERT_EQ(notes[sum].writes.size(), 2U);
            EXPECT_EQ(elements_of({notes[sum].writes[0]}, x), (Elements{{0, 8}}));
            EXPECT_EQ(notes[sum].writes[1].size, StagedCommunicator::kScratch);
            EXPECT_EQ(notes[sum].writes[1].data, notes[2].writes[1].data);
        }
        EXPECT_TRUE(notes[4].reads.empty() && notes[4].writes.empty());
    });
}

TEST_P(Communicators, SayThatBlocksForOneselfStay) {
    const Mesh mesh = mesh_of(1, 1, 3, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const Tensor out = filled(*rank.device, 6, 1);
        const Tensor in = filled(*rank.device, 6, 1);
        rank.communicator.all_to_all(GroupKey::ulysses, out, in);
        rank.stream->synchronize();
        const std::vector<Elements> others = {{{2, 6}}, {{0, 2}, {4, 6}}, {{0, 4}}};
        const auto me = static_cast<std::size_t>(network.rank());
        EXPECT_EQ(elements_of(rank.noting.notes()[0].reads, out), others[me]);
        EXPECT_EQ(elements_of(rank.noting.notes()[0].writes, in), others[me]);
    });
}

TEST_P(Communicators, OfOneNeedNoTensors) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        rank.communicator.all_gather(GroupKey::tensor, {});
        rank.communicator.all_to_all(GroupKey::tensor, {}, {});
        rank.communicator.ring_shift(GroupKey::tensor, {}, {});
        rank.communicator.all_reduce_sum(GroupKey::tensor, {});
        rank.communicator.reduce_scatter_sum(GroupKey::tensor, {});
        rank.communicator.broadcast(GroupKey::tensor, {}, 0);
        EXPECT_TRUE(rank.noting.notes().empty());
    });
}

// A block's keys and values travel beside another block's sum and share the ring's link with it.
TEST_P(Communicators, SayOnceWhatShiftsOfOneGroupSend) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    run_all_networks(cluster(mesh), [&](Network& network) {
        Rank rank(network, mesh);
        const Tensor out = filled(*rank.device, 100, 1);
        const Tensor in = filled(*rank.device, 100, 1);
        rank.communicator.ring_shifts({{GroupKey::ring, out->rows(0, 60), in->rows(0, 60)},
                                       {GroupKey::world, out->rows(60, 20), in->rows(60, 20)},
                                       {GroupKey::ring, out->rows(80, 20), in->rows(80, 20)}});
        rank.stream->synchronize();
        const auto& note = rank.noting.notes()[0];
        ASSERT_EQ(note.traffic.size(), 2U);
        EXPECT_EQ(note.traffic[0].group, static_cast<int>(GroupKey::ring));
        EXPECT_EQ(note.traffic[0].bytes, Bytes{320});
        EXPECT_EQ(note.traffic[0].messages, 1);
        EXPECT_EQ(note.traffic[1].bytes, Bytes{80});
        EXPECT_EQ(elements_of(note.writes, in), (Elements{{0, 60}, {60, 80}, {80, 100}}));
        EXPECT_EQ(rank.noting.bytes_by_name(), rank.communicator.counters().bytes_sent);
    });
}

}  // namespace
}  // namespace rm
