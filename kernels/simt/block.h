#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/simt/emulator.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/simt_emu.h"

// The block that is being emulated: its threads, what they wait for, its schedule.
namespace rm::simt {

enum class Wait : std::uint8_t { none, block, warp, done };

struct AsyncCopy {
    void* dst = nullptr;
    const void* src = nullptr;
    int bytes = 0;
};

struct Thread {
    int index = 0;
    Wait wait = Wait::none;
    Place place;                                // of the barrier or warp function it waits in
    std::vector<AsyncCopy> open;                // issued, not committed
    std::deque<std::vector<AsyncCopy>> groups;  // committed, not waited for
    Fiber fiber;
};

// What a lane brings to a warp function and what it takes away.
struct alignas(16) Slot {
    unsigned char bytes[64];
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
using CollectiveFn = void (*)(const Slot* in, Slot* out, const void* argument);

struct Warp {
    // Two generations: a lane may enter the next function before another has read its result.
    std::array<std::array<Slot, 32>, 2> in;
    std::array<std::array<Slot, 32>, 2> out;
    std::uint32_t arrived = 0;  // one bit per lane
    unsigned generation = 0;
    Place place;
};

class Block {
public:
    Block(Extent grid, int num_threads, const std::function<void(void*)>& body);

    void run(Extent at, void* shared, const Emulation& emulation);
    const EmulatorCounts& counts() const { return counts_; }

    // Called by the running thread.
    Thread& running() { return *running_; }
    const Extent& grid() const { return grid_; }
    const Extent& at() const { return at_; }
    void sync(Place place);
    // Every lane deposits `mine`; the last to arrive computes all results; each lane gets its own.
    const Slot& gather(const Slot& mine, CollectiveFn compute, const void* argument, Place place);
    void count_product() { ++counts_.products; }

private:
    static void entry();
    void schedule(const Emulation& emulation);
    bool run_warp(std::size_t warp, bool shuffled, std::mt19937_64& random);
    void wait(Wait what);
    std::string diagnosis() const;

    Extent grid_;
    Extent at_;
    const std::function<void(void*)>& body_;
    void* shared_ = nullptr;
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    Thread* running_ = nullptr;
    int arrived_ = 0;    // threads at the block's barrier
    int num_alive_ = 0;  // threads that have not exited
    std::exception_ptr error_;
    EmulatorCounts counts_;
};

Block& current_block();

}  // namespace rm::simt
