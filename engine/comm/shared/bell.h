#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rm {

// A doorbell in memory that processes share. Its owner looks at what it waits for and then sleeps;
// its peers change that and then ring. No ring is lost: one that comes after the owner has called
// heard() ends the sleep which gets that value.
class Bell {
public:
    std::uint32_t heard() const { return rings_.load(); }
    // Returns after a ring that `heard` does not count, after `longest`, or for no reason.
    void sleep(std::uint32_t heard, std::chrono::nanoseconds longest);
    void ring();

private:
    // All accesses are sequentially consistent: either the sleeper sees the ring, or the ringer
    // sees the sleeper.
    std::atomic<std::uint32_t> rings_{0};
    std::atomic<std::uint32_t> num_asleep_{0};  // a ring that wakes no thread is no system call
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "the kernel reads the bell's word");

}  // namespace rm
