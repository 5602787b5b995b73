// Compares the bytes that a collective declares with the messages that a rank posts.
#include "engine/comm/traffic.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/closed_device.h"
#include "tests/engine/comm/cluster.h"

namespace rm {
namespace {

using testing::all_peers;
using testing::run_all;

class CountingTransport final : public Transport {
public:
    explicit CountingTransport(Transport& transport) : transport_(transport) {}
    std::string_view name() const override { return transport_.name(); }
    int rank() const override { return transport_.rank(); }
    int num_ranks() const override { return transport_.num_ranks(); }
    MessageHandle send(int to, std::span<const std::byte> bytes) override {
        ++sent_.messages;
        sent_.bytes += Bytes{std::ssize(bytes)};
        return transport_.send(to, bytes);
    }
    MessageHandle recv(int from, std::span<std::byte> bytes) override {
        return transport_.recv(from, bytes);
    }
    void wait(MessageHandle handle) override { transport_.wait(handle); }
    void abort(const std::string& reason) override { transport_.abort(reason); }

    Traffic take() { return std::exchange(sent_, {}); }

private:
    Transport& transport_;
    Traffic sent_;
};

// One rank of a group of all ranks, with its memory.
struct Rank {
    Rank(Transport& transport, std::unique_ptr<Device> memory)
        : counting(transport), device(std::move(memory)), staging(*device) {
        std::vector<int> ranks(static_cast<std::size_t>(transport.num_ranks()));
        std::iota(ranks.begin(), ranks.end(), 0);
        group = make_group(ranks, transport.rank());
    }
    Tensor tensor(std::int64_t count) {
        return Tensor(*device, MemoryKind::communication, DType::f32, {count});
    }
    void expect_sent(const Traffic& said, std::int64_t messages_at_once = 1) {
        const Traffic sent = counting.take();
        EXPECT_EQ(said.bytes, sent.bytes);
        EXPECT_EQ(said.messages * messages_at_once, sent.messages);
    }

    CountingTransport counting;
    std::unique_ptr<Device> device;
    Staging staging;
    Group group;
    std::vector<float> scratch_memory = std::vector<float>(1000);
    TensorView scratch{scratch_memory.data(), DType::f32, {1000}};
};

constexpr std::int64_t kPieceElements = Staging::kPiece.value / 4;

void play_all(Rank& rank, std::int64_t count) {
    SCOPED_TRACE(count);
    const Tensor x = rank.tensor(count), y = rank.tensor(count);
    auto& [counting, device, staging, group, memory, scratch] = rank;
    const RingShift shift{group, x, y};
    ring_shifts(counting, staging, {&shift, 1});
    rank.expect_sent(ring_shift_traffic(staging, x));
    reduce_scatter_sum(counting, group, staging, x, scratch);
    rank.expect_sent(reduce_scatter_traffic(group, staging, x, 1000));
    all_reduce_sum(counting, group, staging, x, scratch);
    rank.expect_sent(all_reduce_traffic(group, staging, x, 1000));
    all_gather(counting, group, staging, x);
    rank.expect_sent(all_gather_traffic(group, staging, x));
    for (int root = 0; root < group.size(); ++root) {
        broadcast(counting, group, staging, x, root);
        rank.expect_sent(broadcast_traffic(group, x, root));
    }
    barrier(counting, group);
    rank.expect_sent(barrier_traffic(group));
}

TEST(Traffic, IsWhatHostMemorySends) {
    run_all({.num_ranks = 3, .peers = all_peers(3)}, [](Transport& transport) {
        Rank rank(transport, make_host_device());
        // Covers parts of one element, empty parts, unequal parts and sums in several pieces.
        for (const std::int64_t count : {1, 2, 3, 100, 12'000})
            play_all(rank, count);
    });
}

TEST(Traffic, IsInPiecesWhereMemoryIsClosed) {
    run_all({.num_ranks = 2, .peers = all_peers(2)}, [](Transport& transport) {
        Rank rank(transport, make_closed_device());
        play_all(rank, 100);
        const Tensor x = rank.tensor(2 * kPieceElements + 1), y = rank.tensor(x->num_elements());
        const RingShift shift{rank.group, x, y};
        ring_shifts(rank.counting, rank.staging, {&shift, 1});
        EXPECT_EQ(ring_shift_traffic(rank.staging, x).messages, 3);
        rank.expect_sent(ring_shift_traffic(rank.staging, x));
        all_gather(rank.counting, rank.group, rank.staging, x);
        rank.expect_sent(all_gather_traffic(rank.group, rank.staging, x));
    });
}

TEST(Traffic, CountsMessagesToSeveralRanksAtOnceAsOne) {
    run_all({.num_ranks = 5, .peers = all_peers(5)}, [](Transport& transport) {
        Rank open(transport, make_host_device());
        const Tensor x = open.tensor(25), y = open.tensor(25);
        all_to_all(open.counting, open.group, open.staging, x, y);
        EXPECT_EQ(all_to_all_traffic(open.group, open.staging, x).messages, 1);
        open.expect_sent(all_to_all_traffic(open.group, open.staging, x), 4);

        Rank closed(transport, make_closed_device());  // two at once
        const Tensor out = closed.tensor(25), in = closed.tensor(25);
        all_to_all(closed.counting, closed.group, closed.staging, out, in);
        EXPECT_EQ(all_to_all_traffic(closed.group, closed.staging, out).messages, 2);
        closed.expect_sent(all_to_all_traffic(closed.group, closed.staging, out), 2);
    });
}

TEST(Traffic, OfAGroupOfOneIsNothing) {
    const Group alone = make_group({3}, 3);
    const Staging direct;
    std::vector<float> memory(8);
    const TensorView x(memory.data(), DType::f32, {8});
    for (const Traffic& traffic :
         {reduce_scatter_traffic(alone, direct, x, 4), all_gather_traffic(alone, direct, x),
          all_reduce_traffic(alone, direct, x, 4), all_to_all_traffic(alone, direct, x),
          broadcast_traffic(alone, x, 0), barrier_traffic(alone)}) {
        EXPECT_EQ(traffic.messages, 0);
        EXPECT_EQ(traffic.bytes, Bytes{0});
    }
}

}  // namespace
}  // namespace rm
