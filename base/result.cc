#include "base/result.h"

#include <array>

namespace rm {

std::string_view to_string(ErrorCode code) {
    // By the codes' numbers, from 1.
    constexpr std::array<std::string_view, 16> kWords = {"cancelled",
                                                         "unknown",
                                                         "invalid argument",
                                                         "deadline exceeded",
                                                         "not found",
                                                         "already exists",
                                                         "permission denied",
                                                         "resource exhausted",
                                                         "failed precondition",
                                                         "aborted",
                                                         "out of range",
                                                         "unimplemented",
                                                         "internal",
                                                         "unavailable",
                                                         "data loss",
                                                         "unauthenticated"};
    const auto index = static_cast<std::size_t>(code) - 1;
    return index < kWords.size() ? kWords[index] : "unknown";
}

}  // namespace rm
