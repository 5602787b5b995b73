// Collectives on memory that the host cannot see give the same bits, by way of pinned pieces.
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "engine/comm/staged_communicator.h"
#include "kernels/closed_device.h"
#include "tests/engine/comm/cluster.h"

namespace rm::testing {
namespace {

using MakeDevice = std::unique_ptr<Device> (*)();
using Numbers = std::vector<float>;
using Bits = std::vector<std::uint32_t>;

// More than one piece, but not a whole number of pieces.
constexpr std::int64_t kCount = Staging::kPiece.value / 4 * 2 + 12345;

// More than one piece for each rank.
constexpr std::int64_t kTradedCount = 3 * (Staging::kPiece.value / 4 + 12345);

// Everything a rank of three holds after each collective on random numbers.
struct Results {
    Bits shifted, shifted_too, summed, scattered, gathered, traded, sent;
    bool operator==(const Results&) const = default;
};

class RankMemory {
public:
    RankMemory(Transport& transport, MakeDevice make_device)
        : device_(make_device()),
          stream_(device_->make_host_stream("communication")),
          communicator_(transport, *device_, *stream_, mesh_of(1, transport.num_ranks(), 1, 1),
                        progress_),
          numbers_(static_cast<std::size_t>(kTradedCount + 1000)) {
        Rng rng(static_cast<std::uint64_t>(transport.rank()));
        for (float& number : numbers_)
            number = static_cast<float>(rng.uniform() - 0.5);
    }

    Results run() {
        const Tensor out = random(1), in = random(2), sum = random(3), part = random(6);
        const Tensor whole = random(4), sent = random(5), in_too = random(7, 1000);
        const Tensor traded = random(8, kTradedCount), back = random(9, kTradedCount);
        // The second shift fits into one piece, the first needs several.
        communicator_.ring_shifts(
            {{GroupKey::ring, out, in}, {GroupKey::world, out->rows(0, 1000), in_too}});
        communicator_.all_reduce_sum(GroupKey::gradient, sum);
        communicator_.reduce_scatter_sum(GroupKey::gradient, part);
        communicator_.all_gather(GroupKey::ring, whole);
        communicator_.all_to_all(GroupKey::ring, traded, back);
        communicator_.broadcast(GroupKey::world, sent, 1);
        stream_->synchronize();
        return {read(in), read(in_too), read(sum), read(part), read(whole), read(back), read(sent)};
    }

private:
    Tensor random(std::int64_t what, std::int64_t count = kCount) {
        Tensor tensor(*device_, MemoryKind::communication, DType::f32, {count});
        device_->write(numbers_.data() + what * 100, tensor);
        return tensor;
    }
    Bits read(const TensorView& x) {
        Bits bits(static_cast<std::size_t>(x.num_elements()));
        device_->read(x, bits.data());
        return bits;
    }

    std::unique_ptr<Device> device_;
    std::unique_ptr<Stream> stream_;
    CommProgress progress_;
    StagedCommunicator communicator_;
    Numbers numbers_;
};

std::vector<Results> results_of(MakeDevice make_device) {
    std::vector<Results> results(3);
    run_all({.num_ranks = 3, .peers = all_peers(3)}, [&](Transport& transport) {
        results[static_cast<std::size_t>(transport.rank())] =
            RankMemory(transport, make_device).run();
    });
    return results;
}

TEST(CollectivesOnClosedMemory, GiveTheBitsOfHostMemory) {
    const std::vector<Results> open = results_of(make_host_device);
    const std::vector<Results> closed = results_of([] { return make_closed_device(); });
    for (std::size_t rank = 0; rank < open.size(); ++rank)
        EXPECT_TRUE(closed[rank] == open[rank]) << "rank " << rank;
    EXPECT_TRUE(open[0].summed == open[2].summed);
    EXPECT_TRUE(open[0].shifted_too ==
                Bits(open[0].shifted.begin(), open[0].shifted.begin() + 1000));
}

}  // namespace
}  // namespace rm::testing
