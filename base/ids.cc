#include "base/ids.h"

#include <algorithm>

namespace rm {
namespace {

constexpr std::size_t kLength = 6;

bool is_letter(char c) {
    return c >= 'a' && c <= 'z';
}

}  // namespace

Status check_job_id(const JobId& id) {
    const std::string& text = id.value;
    const bool sound = text.size() == kLength && is_letter(text.front()) &&
                       std::all_of(text.begin(), text.end(),
                                   [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
    if (sound) return {};
    return invalid_argument("'{}' is not a job id, which has {} lower-case letters and digits",
                            text, kLength);
}

}  // namespace rm
