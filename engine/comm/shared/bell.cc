#include "engine/comm/shared/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace rm {
namespace {

// Without FUTEX_PRIVATE_FLAG: the word is in memory of several processes.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
    ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void Bell::sleep(std::uint32_t heard, std::chrono::nanoseconds longest) {
    constexpr std::int64_t kNanos = 1'000'000'000;
    const std::int64_t nanos = std::max<std::int64_t>(longest.count(), 0);
    const timespec timeout{nanos / kNanos, nanos % kNanos};
    ++num_asleep_;
    futex(rings_, FUTEX_WAIT, heard, &timeout);
    --num_asleep_;
}

void Bell::ring() {
    ++rings_;
    if (num_asleep_ > 0) futex(rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace rm
