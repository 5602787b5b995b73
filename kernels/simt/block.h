#pragma once

#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/simt/emulator.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/sanitizers.h"
#include "kernels/simt/simt_emu.h"

// The block that is being emulated: its threads, what they wait for, its schedule.
namespace rm::simt {

constexpr int kWarpLanes = 32;
constexpr int kMaxThreads = 1024;  // of a block

// The asynchronous copies of one thread, in order of issue.
class CopyQueue {
public:
    void clear();
    void push(const detail::AsyncCopy& copy);
    void commit() { ++committed_; }
    // The oldest copy outside the last `groups` committed groups; null when there is none.
    const detail::AsyncCopy* pop(int groups);
    const detail::AsyncCopy* oldest() const;  // that has not landed; null when there is none

private:
    std::vector<detail::AsyncCopy> copies_;
    std::size_t landed_ = 0;  // copies before have landed
    std::int64_t committed_ = 0;
};

enum class State : std::uint8_t { fresh, ready, waits, done };

struct Thread {
    int index = 0;
    State state = State::fresh;
    // The barrier or warp function it is in, and where that was called; the caller's, which waits.
    const char* waits_in = "";
    const Place* place = nullptr;
    CopyQueue copies;
    Fiber fiber;
};

// The value that a lane brings to a warp function, and the one it takes away.
struct alignas(16) Slot {
    unsigned char bytes[48];
};
template <typename T>
T load(const Slot& slot) {
    static_assert(sizeof(T) <= sizeof(Slot));
    T value;
    std::memcpy(&value, slot.bytes, sizeof(T));
    return value;
}
template <typename T>
void store(Slot& slot, const T& value) {
    static_assert(sizeof(T) <= sizeof(Slot));
    std::memcpy(slot.bytes, &value, sizeof(T));
}
using Slots = std::array<Slot, kWarpLanes>;

struct Warp {
    // Two generations: a lane may enter the next function before another has read its result.
    std::array<Slots, 2> in;
    std::array<Slots, 2> out;
    std::uint32_t ready = 0;    // one bit per lane that can run
    std::uint32_t arrived = 0;  // one bit per lane in the warp function
    unsigned generation = 0;
    const char* function = "";  // of the first lane that arrived
    const Place* place = nullptr;
    std::array<RacePoint, 2> barrier;
};

// The order in which the lanes of one warp run, from wait to wait.
struct Pass {
    Warp* warp = nullptr;
    Thread* lanes = nullptr;
    unsigned first = 0, stride = 1;  // lane (first + i * stride) mod 32 is the i-th
    unsigned next = kWarpLanes;
};

class Block {
public:
    Block(Extent grid, int num_threads, const std::function<void(void*)>& body);
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block();

    void run(Extent at, void* shared, std::size_t shared_bytes, std::uint64_t seed);
    const EmulatorCounts& counts() const { return counts_; }
    void count_product() { ++counts_.products; }

    // Called by the running thread.
    Thread& running() { return *running_; }
    void sync(const Place& place);
    void sync_lanes(const Place& place);
    // Every lane brings `mine`; the last to arrive computes what all take away.
    template <typename Out, typename In, typename Compute>
    Out gather(const char* function, const In& mine, const Place& place, const Compute& compute);

private:
    static void entry();
    void start_threads();
    void play(std::mt19937_64& random, bool greedy);
    bool run_warp(std::size_t warp, std::mt19937_64& random, bool greedy);
    void unwind();

    Warp& warp_of(const Thread& thread);
    void enter(Warp& warp, const char* function, const Place& place);
    void wake(Warp& warp);
    void wait(const char* what, const Place& place);
    Fiber& next_of_pass();
    void set_running(Thread& thread);
    void end_thread(Thread& thread);
    std::string shown() const;      // the block's name
    std::string diagnosis() const;  // of a block in which no thread can run

    const int num_threads_;
    const std::function<void(void*)>& body_;
    void* shared_ = nullptr;
    Thread* threads_ = nullptr;
    Warp* warps_ = nullptr;
    Fiber home_;  // the scheduler
    Thread* running_ = nullptr;
    Pass pass_;
    int arrived_ = 0;  // threads at the block's barrier
    const Place* barrier_place_ = nullptr;
    unsigned phase_ = 0;
    int num_alive_ = 0;  // threads that have not exited
    bool unwinding_ = false;
    std::exception_ptr error_;
    EmulatorCounts counts_;
    std::array<RacePoint, 2> barrier_;
    RacePoint launched_, finished_;
};

// The block that this OS thread runs; an error outside a kernel.
Block& current_block();

inline Warp& Block::warp_of(const Thread& thread) {
    return warps_[thread.index / kWarpLanes];
}

template <typename Out, typename In, typename Compute>
Out Block::gather(const char* function, const In& mine, const Place& place,
                  const Compute& compute) {
    Warp& warp = warp_of(*running_);
    const auto lane = static_cast<std::size_t>(running_->index % kWarpLanes);
    const std::size_t parity = warp.generation & 1;
    enter(warp, function, place);
    store(warp.in[parity][lane], mine);
    if (warp.arrived != 0xffffffffu) {
        wait(function, place);
    } else {
        compute(warp.in[parity], warp.out[parity]);
        wake(warp);
    }
    return load<Out>(warp.out[parity][lane]);
}

}  // namespace rm::simt
