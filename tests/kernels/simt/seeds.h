#pragma once

#include <cstdint>

// The thread sanitizer reports a race on any schedule, and is slow; a race that must be found by
// its result needs many schedules.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RM_RACES_ARE_REPORTED 1
#endif
#endif

namespace rm {

#ifdef RM_RACES_ARE_REPORTED
constexpr std::uint64_t kNumSeeds = 1;
#else
constexpr std::uint64_t kNumSeeds = 8;
#endif

}  // namespace rm
