#include "engine/comm/communicator.h"

#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "base/random.h"
#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using testing::all_peers;
using ::testing::AllOf;
using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mesh_of;
using ::testing::Pair;
using testing::run_all;
using testing::run_ranks;

// Passes work on, noting what it said of itself.
class NotingStream final : public Stream {
public:
    struct Note {
        std::string op;
        std::vector<MemoryRange> reads;
        std::vector<MemoryRange> writes;
        std::vector<Traffic> traffic;
    };

    explicit NotingStream(Stream& stream) : stream_(stream) {}
    void queue(const QueuedWork& what, std::function<void()> work) override {
        notes_.push_back({std::string(what.op),
                          {what.reads.begin(), what.reads.end()},
                          {what.writes.begin(), what.writes.end()},
                          {what.traffic.begin(), what.traffic.end()}});
        stream_.queue(what, std::move(work));
    }
    void enqueue(std::string_view op, std::function<void()> work) override {
        stream_.enqueue(op, std::move(work));
    }
    void call_host(std::string_view op, std::function<void()> work) override {
        stream_.call_host(op, std::move(work));
    }
    std::int64_t num_queued() const override { return stream_.num_queued(); }
    void record(Event& event) override { stream_.record(event); }
    void wait(const Event& event) override { stream_.wait(event); }
    void synchronize() override { stream_.synchronize(); }

    const std::vector<Note>& notes() const { return notes_; }
    std::map<std::string, std::int64_t> bytes_by_name() const {
        std::map<std::string, std::int64_t> bytes;
        for (const Note& note : notes_) {
            const std::string op = note.op.substr(note.op.find(' '));
            for (const Traffic& traffic : note.traffic) {
                const auto key = to_string(static_cast<GroupKey>(traffic.group));
                bytes[std::string(key) + op] += traffic.bytes.value;
            }
        }
        std::erase_if(bytes, [](const auto& entry) { return entry.second == 0; });
        return bytes;
    }

private:
    Stream& stream_;
    std::vector<Note> notes_;
};

// One rank's end of the queued form, as the engine wires it.
struct Rank {
    Rank(Transport& transport, const Mesh& mesh)
        : communicator(transport, *device, noting, mesh, progress) {}

    std::unique_ptr<Device> device = make_host_device();
    std::unique_ptr<Stream> stream = device->make_host_stream("communication");
    NotingStream noting{*stream};
    CommProgress progress;
    Communicator communicator;
};

Tensor filled(Device& device, std::int64_t count, float value) {
    Tensor tensor(device, MemoryKind::communication, DType::f32, {count});
    std::fill_n(tensor->as<float>(), count, value);
    return tensor;
}

class Communicators : public ::testing::TestWithParam<std::string> {
protected:
    Cluster cluster(const Mesh& mesh) const {
        return {.kind = GetParam(), .num_ranks = mesh.num_ranks(), .peers = peers_of(mesh)};
    }
};

TEST_P(Communicators, MoveOnTheAxisThatWasAskedFor) {
    const Mesh mesh = mesh_of(2, 3, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const auto me = static_cast<float>(transport.rank());
        const Tensor out = filled(*rank.device, 100, me);
        const Tensor around_ring = filled(*rank.device, 100, -1);
        const Tensor around_data = filled(*rank.device, 100, -1);
        const Tensor ring_sum = filled(*rank.device, 10, me);
        const Tensor world_sum = filled(*rank.device, 10, me);
        const Tensor from_root = filled(*rank.device, 10, me);
        rank.communicator.ring_shift(GroupKey::ring, out, around_ring);
        rank.communicator.ring_shift(GroupKey::data, out, around_data);
        rank.communicator.ring_shift(GroupKey::tensor, out, around_data);  // a group of one
        rank.communicator.all_reduce_sum(GroupKey::ring, ring_sum);
        rank.communicator.all_reduce_sum(GroupKey::gradient, world_sum);
        rank.communicator.broadcast(GroupKey::world, from_root, 4);
        rank.communicator.barrier(GroupKey::world);
        rank.stream->synchronize();

        const int d = mesh.coord(transport.rank(), Axis::data);
        const int r = mesh.coord(transport.rank(), Axis::ring);
        EXPECT_EQ(around_ring->as<float>()[99], static_cast<float>(d * 3 + (r + 2) % 3));
        EXPECT_EQ(around_data->as<float>()[0], static_cast<float>((1 - d) * 3 + r));
        EXPECT_EQ(ring_sum->as<float>()[9], static_cast<float>(d == 0 ? 3 : 12));
        EXPECT_EQ(world_sum->as<float>()[5], 15);
        EXPECT_EQ(from_root->as<float>()[5], 4);
    });
}

TEST_P(Communicators, GatherTheParts) {
    const Mesh mesh = mesh_of(1, 4, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const Tensor whole = filled(*rank.device, 4, static_cast<float>(transport.rank()));
        rank.communicator.all_gather(GroupKey::ring, whole);
        rank.stream->synchronize();
        EXPECT_THAT(std::span(whole->as<float>(), 4), ElementsAre(0, 1, 2, 3));
    });
}

TEST_P(Communicators, CountBytesByGroupAndOperation) {
    const Mesh mesh = mesh_of(2, 2, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const Tensor out = filled(*rank.device, 100, 1);
        const Tensor in = filled(*rank.device, 100, 1);
        for (int i = 0; i < 3; ++i)
            rank.communicator.ring_shift(GroupKey::ring, out, in);
        rank.communicator.all_reduce_sum(GroupKey::gradient, out);
        rank.communicator.barrier(GroupKey::world);
        rank.stream->synchronize();
        const CommCounters counters = rank.communicator.counters();
        EXPECT_THAT(counters.bytes_sent,
                    ElementsAre(Pair("gradient all_reduce_sum", 2 * 3 * 100),
                                Pair("ring ring_shift", 3 * 400), Pair("world barrier", 3)));
        EXPECT_GT(counters.waited.value, 0);
        std::int64_t total = 0;
        for (const auto& [name, bytes] : counters.bytes_sent)
            total += bytes;
        EXPECT_EQ(total, transport.bytes_sent());
    });
}

TEST_P(Communicators, CountEachRingOfADoubleOne) {
    const Mesh mesh = mesh_of(1, 6, 1, 1, 2);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const auto me = static_cast<float>(transport.rank());
        const Tensor out = filled(*rank.device, 100, me);
        const Tensor near = filled(*rank.device, 100, -1);
        const Tensor far = filled(*rank.device, 30, -1);
        rank.communicator.ring_shifts({{GroupKey::ring_inner, out, near},
                                       {GroupKey::ring_outer, out->rows(0, 30), far},
                                       {GroupKey::tensor, out, near}});  // a group of one
        rank.communicator.ring_shifts({{GroupKey::tensor, out, near}});
        rank.stream->synchronize();
        EXPECT_THAT(
            rank.communicator.counters().bytes_sent,
            ElementsAre(Pair("ring_inner ring_shift", 400), Pair("ring_outer ring_shift", 120)));
        EXPECT_EQ(transport.bytes_sent(), 520);
        EXPECT_EQ(rank.noting.bytes_by_name(), rank.communicator.counters().bytes_sent);
        EXPECT_EQ(rank.progress.entered, 1);
        EXPECT_EQ(rank.progress.left, 1);
        EXPECT_EQ(near->as<float>()[99], static_cast<float>(transport.rank() ^ 1));
        EXPECT_EQ(far->as<float>()[29], static_cast<float>((transport.rank() + 4) % 6));
    });
}

// ZeRO's step: sum the gradients to their owners, gather the weights they make of them.
TEST_P(Communicators, ScatterGatherAndTrade) {
    const Mesh mesh = mesh_of(1, 2, 2, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const int me = transport.rank();
        const Tensor grads = filled(*rank.device, 4, static_cast<float>(1 + me));
        const Tensor out = filled(*rank.device, 2, static_cast<float>(me));
        const Tensor in = filled(*rank.device, 2, -1);
        rank.communicator.reduce_scatter_sum(GroupKey::gradient, grads);
        rank.communicator.all_to_all(GroupKey::ulysses, out, in);
        rank.stream->synchronize();
        EXPECT_EQ(grads->as<float>()[me], 10);
        const int peer = me ^ 1;
        EXPECT_EQ(in->as<float>()[peer % 2], static_cast<float>(peer));
        EXPECT_EQ(in->as<float>()[me % 2], -1);
        EXPECT_THAT(
            rank.communicator.counters().bytes_sent,
            ElementsAre(Pair("gradient reduce_scatter_sum", 12), Pair("ulysses all_to_all", 4)));
    });
}

// One of a program of collectives on whatever groups, and what it leaves in `result`.
struct Step {
    GroupKey key;
    CommOp op;
    std::int64_t count;

    // Element i of rank `rank` before; small integers: sums are exact.
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

// A rank is in all of these groups at once; in one program order none waits for itself.
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
        run_all(connected, [&](Transport& transport) {
            Rank rank(transport, mesh);
            std::vector<Tensor> operands, results;
            for (const Step& step : program) {
                operands.push_back(step.operand(*rank.device, transport.rank()));
                results.push_back(step.operand(*rank.device, transport.rank()));
                step.queue(rank.communicator, operands.back(), results.back());
            }
            rank.stream->synchronize();
            for (std::size_t i = 0; i < program.size(); ++i)
                program[i].check(rank.communicator.group(program[i].key), results[i]);
            EXPECT_EQ(rank.noting.bytes_by_name(), rank.communicator.counters().bytes_sent);
        });
    }
}

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

TEST_P(Communicators, SayWhichPartsTheyTouch) {
    const Mesh mesh = mesh_of(1, 4, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const std::int64_t me = transport.rank();
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
        // The scratch that all sums share is written as well.
        for (const std::size_t sum : {2, 3}) {
            ASSERT_EQ(notes[sum].writes.size(), 2U);
            EXPECT_EQ(elements_of({notes[sum].writes[0]}, x), (Elements{{0, 8}}));
            EXPECT_EQ(notes[sum].writes[1].size, Communicator::kScratch);
            EXPECT_EQ(notes[sum].writes[1].data, notes[2].writes[1].data);
        }
        EXPECT_TRUE(notes[4].reads.empty() && notes[4].writes.empty());
    });
}

TEST_P(Communicators, SayThatBlocksForOneselfStay) {
    const Mesh mesh = mesh_of(1, 1, 3, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        const Tensor out = filled(*rank.device, 6, 1);
        const Tensor in = filled(*rank.device, 6, 1);
        rank.communicator.all_to_all(GroupKey::ulysses, out, in);
        rank.stream->synchronize();
        const std::vector<Elements> others = {{{2, 6}}, {{0, 2}, {4, 6}}, {{0, 4}}};
        const auto me = static_cast<std::size_t>(transport.rank());
        EXPECT_EQ(elements_of(rank.noting.notes()[0].reads, out), others[me]);
        EXPECT_EQ(elements_of(rank.noting.notes()[0].writes, in), others[me]);
    });
}

TEST_P(Communicators, OfOneNeedNoTensors) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        rank.communicator.all_gather(GroupKey::tensor, {});
        rank.communicator.all_to_all(GroupKey::tensor, {}, {});
        rank.communicator.ring_shift(GroupKey::tensor, {}, {});
        rank.communicator.all_reduce_sum(GroupKey::tensor, {});
        rank.communicator.reduce_scatter_sum(GroupKey::tensor, {});
        rank.communicator.broadcast(GroupKey::tensor, {}, 0);
        EXPECT_TRUE(rank.noting.notes().empty());
    });
}

// As the keys and values of one block beside the sum of another: they share the ring's link.
TEST_P(Communicators, SayOnceWhatShiftsOfOneGroupSend) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
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

TEST_P(Communicators, ShowTheirProgress) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    run_all(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        EXPECT_EQ(comm_name(rank.progress.last), "none");
        rank.communicator.barrier(GroupKey::data);  // a group of one is no collective
        rank.communicator.barrier(GroupKey::world);
        rank.communicator.barrier(GroupKey::ring);
        rank.stream->synchronize();
        EXPECT_EQ(rank.progress.entered, 2);
        EXPECT_EQ(rank.progress.left, 2);
        EXPECT_EQ(comm_name(rank.progress.last), "ring barrier");
    });
}

TEST_P(Communicators, FailOnTheStreamNamingTheCollective) {
    const Mesh mesh = mesh_of(1, 3, 1, 1);
    const auto errors = run_ranks(cluster(mesh), [&](Transport& transport) {
        if (transport.rank() == 2) return;
        Rank rank(transport, mesh);
        const Tensor x = filled(*rank.device, 100, 1);
        rank.communicator.all_reduce_sum(GroupKey::gradient, x);
        try {
            rank.stream->synchronize();
        } catch (const StreamError&) {
            EXPECT_EQ(rank.progress.entered, 1);
            EXPECT_EQ(rank.progress.left, 0);
            throw;
        }
    });
    EXPECT_THAT(errors[0], AllOf(HasSubstr("gradient all_reduce_sum"), HasSubstr("is gone")));
    EXPECT_THAT(errors[1], AllOf(HasSubstr("gradient all_reduce_sum"), HasSubstr("is gone")));
}

TEST_P(Communicators, CanBeLeftWhileACollectiveHangs) {
    const Mesh mesh = mesh_of(1, 2, 1, 1);
    const testing::Stopwatch watch;
    (void)run_ranks(cluster(mesh), [&](Transport& transport) {
        Rank rank(transport, mesh);
        rank.communicator.barrier(GroupKey::world);
        rank.stream->synchronize();
        if (transport.rank() == 0) {
            rank.communicator.barrier(GroupKey::world);
            transport.abort("the compute stream failed");
        }
    });
    EXPECT_LT(watch.seconds(), 10);
}

INSTANTIATE_TEST_SUITE_P(, Communicators, ::testing::ValuesIn(testing::transport_kinds()),
                         [](const auto& info) { return info.param; });

TEST(PeersOf, AreTheNeighboursOnEveryRing) {
    EXPECT_THAT(peers_of(mesh_of(1, 1, 1, 1)), ElementsAre(ElementsAre()));
    EXPECT_THAT(peers_of(mesh_of(1, 2, 1, 1)), ElementsAre(ElementsAre(1), ElementsAre(0)));
    const PeerTable ring = peers_of(mesh_of(1, 5, 1, 1));
    EXPECT_THAT(ring[0], ElementsAre(1, 4));
    EXPECT_THAT(ring[3], ElementsAre(2, 4));
    // data 2 x ring 4: the ring of rank 0 is 0..3, its data group {0, 4}, the world ring ends at 7.
    const PeerTable grid = peers_of(mesh_of(2, 4, 1, 1));
    EXPECT_THAT(grid[0], ElementsAre(1, 3, 4, 7));
    EXPECT_THAT(grid[5], ElementsAre(1, 4, 6));
}

TEST(PeersOf, AreAllOfAnUlyssesAndATensorGroup) {
    EXPECT_THAT(peers_of(mesh_of(1, 1, 5, 1))[1], ElementsAre(0, 2, 3, 4));
    // ulysses 4 x tensor 2 beside data 2: rank 0 trades with 1, 2, 4, 6; 8 and 15 are neighbours.
    EXPECT_THAT(peers_of(mesh_of(2, 1, 4, 2))[0], ElementsAre(1, 2, 4, 6, 8, 14, 15));
}

TEST(PeersOf, AreTheNeighboursOnBothRingsOfADoubleOne) {
    // Inner rings 0 1 2, 3 4 5, 6 7 8, 9 10 11; the ring of all goes round as well.
    EXPECT_THAT(peers_of(mesh_of(1, 12, 1, 1, 3))[0], ElementsAre(1, 2, 3, 9, 11));
    EXPECT_THAT(peers_of(mesh_of(1, 12, 1, 1, 3))[4], ElementsAre(1, 3, 5, 7));
}

TEST(PeersOf, AreMutual) {
    const PeerTable table = peers_of(mesh_of(3, 2, 2, 2));
    for (std::size_t rank = 0; rank < table.size(); ++rank) {
        for (const int peer : table[rank]) {
            EXPECT_THAT(table[static_cast<std::size_t>(peer)],
                        ::testing::Contains(static_cast<int>(rank)));
        }
    }
}

TEST(GroupKey, OfTheGradientHoldsEqualParameters) {
    const Mesh mesh = mesh_of(2, 2, 1, 2);
    EXPECT_THAT(make_group(mesh, 3, GroupKey::gradient).ranks, ElementsAre(1, 3, 5, 7));
    EXPECT_THAT(make_group(mesh, 3, GroupKey::tensor).ranks, ElementsAre(2, 3));
    EXPECT_EQ(make_group(mesh, 3, GroupKey::world).size(), 8);
}

TEST(GroupKey, OfADoubleRingAreSlotsInARowAndSlotsOfOnePlace) {
    const Mesh mesh = mesh_of(2, 6, 1, 2, 3);
    // Rank 12 + 2 * 4 + 1: ring slot 4, place 1 of the second inner ring.
    EXPECT_THAT(make_group(mesh, 21, GroupKey::ring_inner).ranks, ElementsAre(19, 21, 23));
    EXPECT_EQ(make_group(mesh, 21, GroupKey::ring_inner).index, 1);
    EXPECT_THAT(make_group(mesh, 21, GroupKey::ring_outer).ranks, ElementsAre(15, 21));
    EXPECT_EQ(make_group(mesh, 21, GroupKey::ring_outer).index, 1);
    const Mesh plain = mesh_of(1, 4, 1, 1);
    EXPECT_THAT(make_group(plain, 2, GroupKey::ring_inner).ranks, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(make_group(plain, 2, GroupKey::ring_outer).ranks, ElementsAre(2));
}

TEST(CommName, NamesEveryIdOnce) {
    EXPECT_EQ(comm_name(0), "none");
    EXPECT_EQ(comm_name(1), "data ring_shift");
    EXPECT_EQ(comm_name(42), "world all_to_all");
    EXPECT_EQ(comm_name(55), "ring_outer reduce_scatter_sum");
    EXPECT_EQ(comm_name(57), "unknown collective 57");
    std::set<std::string> names;
    for (int id = 0; id < 57; ++id)
        names.insert(comm_name(id));
    EXPECT_EQ(names.size(), 57U);
}

}  // namespace
}  // namespace rm
