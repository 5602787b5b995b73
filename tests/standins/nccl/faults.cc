#include "tests/standins/nccl/faults.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace standin {

Faults::Faults(int num_ranks, int rank) {
    const char* path = std::getenv("RM_STANDIN_NCCL");
    if (path == nullptr) return;
    std::ifstream file(path);
    const auto text = nlohmann::json::parse(file, nullptr, false);
    if (!text.is_object()) return;
    for (const auto& fault : text.at("faults")) {
        if (fault.at("size") != num_ranks || fault.at("rank") != rank) continue;
        faults_.push_back({fault.value("after", 0L), fault.at("what").get<std::string>(),
                           fault.value("seconds_per_mib", 0.0)});
    }
}

bool Faults::never_connects() const {
    return std::any_of(faults_.begin(), faults_.end(),
                       [](const Fault& fault) { return fault.what == "unconnected"; });
}

Meeting Faults::meet(std::size_t bytes) {
    Meeting meeting;
    for (const Fault& fault : faults_) {
        if (num_calls_ < fault.after) continue;
        meeting.absent = meeting.absent || fault.what == "absent";
        meeting.fails = meeting.fails || fault.what == "error";
        if (fault.what == "slow")
            meeting.seconds += fault.seconds_per_mib * static_cast<double>(bytes) / (1 << 20);
    }
    ++num_calls_;
    return meeting;
}

}  // namespace standin
