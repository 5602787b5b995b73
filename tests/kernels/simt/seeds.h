#pragma once

#include <cstdint>

// The thread sanitizer is slow but reports a race on any schedule. A test that can find a race only
// by a wrong result needs many schedules.
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
