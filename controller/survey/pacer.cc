#include "controller/survey/pacer.h"

#include <algorithm>

namespace rm {

MonoTime Pacer::earliest(const std::set<std::string>& jobs) const {
    MonoTime time;
    for (const std::string& job : jobs) {
        const auto rest = rest_until_.find(job);
        if (rest != rest_until_.end()) time = std::max(time, rest->second);
    }
    return time;
}

void Pacer::used(const std::set<std::string>& jobs, MonoTime start, MonoTime end) {
    std::erase_if(rest_until_, [&](const auto& entry) { return entry.second < end; });
    if (budget_ <= 0) return;
    const double rest = static_cast<double>(end.nanos - start.nanos) * (1 / budget_ - 1);
    for (const std::string& job : jobs)
        rest_until_[job] = {end.nanos + static_cast<std::int64_t>(rest)};
}

}  // namespace rm
