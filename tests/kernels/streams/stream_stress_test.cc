#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/random.h"
#include "kernels/device.h"

// Runs random programs of work, records and waits. Each op checks that everything that CUDA orders
// before it has finished: through atomics, so that any build sees a failure, and through plain
// memory, so that the thread sanitizer sees missing synchronization.
namespace rm {
namespace {

constexpr std::size_t kNumStreams = 4;
constexpr std::size_t kNumEvents = 3;
constexpr int kNumActions = 400;

struct Op {
    std::atomic<bool> played = false;
    int value = 0;                        // plain, written once by the op itself
    std::vector<const Op*> predecessors;  // direct ones
};

class Program {
public:
    explicit Program(std::uint64_t seed) : rng_(seed) {
        for (std::size_t i = 0; i < kNumStreams; ++i) {
            streams_.push_back(device_->make_stream(format("s{}", i)));
        }
        for (std::size_t i = 0; i < kNumEvents; ++i)
            events_.push_back(device_->make_event());
    }

    void run_actions(int failing_action) {
        for (int i = 0; i < kNumActions; ++i) {
            const std::size_t stream = rng_.below(kNumStreams);
            const std::size_t event = rng_.below(kNumEvents);
            switch (i == failing_action ? 9 : rng_.below(9)) {
                case 0:
                case 1:
                    streams_[stream]->record(*events_[event]);
                    recorded_[event] = before_[stream];
                    break;
                case 2:
                case 3:
                    streams_[stream]->wait(*events_[event]);
                    append(before_[stream], recorded_[event]);
                    break;
                case 4:
                    if (rng_.below(8) == 0) synchronize(stream);
                    break;
                case 9:
                    streams_[stream]->enqueue("fail", [] { throw std::runtime_error("planted"); });
                    failed_stream_ = stream;
                    break;
                default:
                    queue_op(stream);
            }
        }
        for (std::size_t i = 0; i < kNumStreams; ++i)
            synchronize(i);
    }

    int num_violations() const { return num_violations_; }
    int num_errors() const { return num_errors_; }
    int num_played() const {
        int played = 0;
        for (const auto& op : ops_)
            played += op->played ? 1 : 0;
        return played;
    }
    std::size_t num_ops() const { return ops_.size(); }

private:
    static void append(std::vector<const Op*>& to, const std::vector<const Op*>& from) {
        to.insert(to.end(), from.begin(), from.end());
    }

    void queue_op(std::size_t stream) {
        Op& op = *ops_.emplace_back(std::make_unique<Op>());
        op.predecessors = before_[stream];
        before_[stream] = {&op};
        const auto spins = rng_.below(200);
        streams_[stream]->enqueue("op", [this, &op, spins] {
            for (std::uint64_t i = 0; i < spins; ++i)
                std::this_thread::yield();
            for (const Op* before : op.predecessors) {
                // A failed stream skips its ops, so they never run.
                if (!before->played) {
                    num_violations_ += failed_stream_ < 0 ? 1 : 0;
                } else {
                    op.value += before->value;
                }
            }
            op.value += 1;
            op.played = true;
        });
    }

    void synchronize(std::size_t stream) {
        try {
            streams_[stream]->synchronize();
        } catch (const StreamError&) {
            ++num_errors_;
        }
    }

    Rng rng_;
    std::vector<std::unique_ptr<Op>> ops_;
    std::vector<const Op*> before_[kNumStreams];  // what the stream's next op must come after
    std::vector<const Op*> recorded_[kNumEvents];
    std::atomic<int> num_violations_ = 0;
    int num_errors_ = 0;
    std::atomic<std::int64_t> failed_stream_ = -1;
    std::unique_ptr<Device> device_ = make_host_device();
    std::vector<std::unique_ptr<Event>> events_;
    std::vector<std::unique_ptr<Stream>> streams_;
};

TEST(StreamStress, RandomProgramsKeepEveryPromisedOrder) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        Program program(seed);
        program.run_actions(-1);
        ASSERT_EQ(program.num_violations(), 0) << "seed " << seed;
        ASSERT_EQ(program.num_errors(), 0) << "seed " << seed;
        ASSERT_EQ(program.num_played(), static_cast<int>(program.num_ops())) << "seed " << seed;
    }
}

TEST(StreamStress, RandomProgramsEndDespiteAnError) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        Program program(seed);
        program.run_actions(static_cast<int>(seed * 7));
        ASSERT_GE(program.num_errors(), 1) << "seed " << seed;
        ASSERT_LT(program.num_played(), static_cast<int>(program.num_ops())) << "seed " << seed;
    }
}

TEST(StreamStress, StreamsMayGoInAnyOrder) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Rng rng(seed);
        const auto device = make_host_device();
        const auto event = device->make_event();
        auto first = device->make_stream("first");
        auto second = device->make_stream("second");
        std::atomic<int> played = 0;
        for (std::uint64_t i = rng.below(20); i < 20; ++i)
            first->enqueue("op", [&] { ++played; });
        first->record(*event);
        second->wait(*event);
        second->enqueue("op", [&] { ++played; });
        (rng.below(2) == 0 ? first : second).reset();
        first.reset();
        second.reset();
        ASSERT_GE(played, 2) << "seed " << seed;
    }
}

}  // namespace
}  // namespace rm
