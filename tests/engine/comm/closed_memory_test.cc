// Collectives on memory that the host cannot see: the same bits by way of pinned pieces.
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "engine/comm/communicator.h"
#include "tests/engine/comm/cluster.h"
#include "tests/support/closed_device.h"

namespace rm::testing {
namespace {

using MakeDevice = std::unique_ptr<Device> (*)();
using Numbers = std::vector<float>;

// More than one piece, and no whole number of them.
constexpr std::int64_t kCount = Staging::kPiece.value / 4 * 2 + 12345;

// Everything a rank of three holds after each collective on random numbers.
struct Results {
    Numbers shifted, summed, gathered, sent;
    bool operator==(const Results&) const = default;
};

class RankMemory {
public:
    RankMemory(Transport& transport, MakeDevice make_device)
        : device_(make_device()),
          stream_(device_->make_host_stream("communication")),
          communicator_(transport, *device_, *stream_, mesh_of(1, transport.num_ranks(), 1, 1),
                        progress_),
          rank_(transport.rank()) {}

    Results run() {
        const Tensor out = random(1), in = random(2), sum = random(3);
        const Tensor whole = random(4), sent = random(5);
        communicator_.ring_shift(Axis::ring, out, in);
        communicator_.all_reduce_sum(GroupKey::gradient, sum);
        communicator_.all_gather(GroupKey::ring, whole);
        communicator_.broadcast(GroupKey::world, sent, 1);
        stream_->synchronize();
        return {read(in), read(sum), read(whole), read(sent)};
    }

private:
    Tensor random(std::uint64_t what) {
        Numbers numbers(kCount);
        Rng rng(what * 100 + static_cast<std::uint64_t>(rank_));
        for (float& number : numbers)
            number = static_cast<float>(rng.normal());
        Tensor tensor(*device_, MemoryKind::communication, DType::f32, {kCount});
        device_->write(numbers.data(), tensor);
        return tensor;
    }
    Numbers read(const TensorView& x) {
        Numbers numbers(kCount);
        device_->read(x, numbers.data());
        return numbers;
    }

    std::unique_ptr<Device> device_;
    std::unique_ptr<Stream> stream_;
    CommProgress progress_;
    Communicator communicator_;
    int rank_;
};

std::vector<Results> results_of(MakeDevice make_device) {
    std::vector<Results> results(3);
    run_all({.num_ranks = 3}, [&](Transport& transport) {
        results[static_cast<std::size_t>(transport.rank())] =
            RankMemory(transport, make_device).run();
    });
    return results;
}

TEST(CollectivesOnClosedMemory, GiveTheBitsOfHostMemory) {
    const std::vector<Results> open = results_of(make_host_device);
    const std::vector<Results> closed = results_of(rm::test::make_closed_device);
    for (std::size_t rank = 0; rank < open.size(); ++rank)
        EXPECT_TRUE(closed[rank] == open[rank]) << "rank " << rank;
    EXPECT_TRUE(open[0].summed == open[2].summed);
}

}  // namespace
}  // namespace rm::testing
