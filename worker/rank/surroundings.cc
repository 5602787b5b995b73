#include "worker/rank/surroundings.h"

#include <sched.h>

#include <cstdlib>
#include <fstream>

#include "base/text.h"

namespace rm {
namespace {

std::vector<int> cores_of_node(int numa_node) {
    std::ifstream file(format("/sys/devices/system/node/node{}/cpulist", numa_node));
    std::string text;
    std::getline(file, text);
    return parse_cores(text);
}

// Keeps the allowed cores of the node; if it has none of them, all.
void stay_on(int numa_node) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    cpu_set_t near;
    CPU_ZERO(&near);
    for (const int core : cores_of_node(numa_node)) {
        if (core < CPU_SETSIZE && CPU_ISSET(usize(core), &allowed)) CPU_SET(usize(core), &near);
    }
    if (CPU_COUNT(&near) > 0) ::sched_setaffinity(0, sizeof near, &near);
}

}  // namespace

void enter_surroundings(const RankConfig& config) {
    if (!config.device_uuid.empty()) {
        ::setenv("CUDA_VISIBLE_DEVICES", config.device_uuid.c_str(), 1);
    }
    if (config.numa_node >= 0) stay_on(config.numa_node);
}

std::vector<int> parse_cores(std::string_view text) {
    std::vector<int> cores;
    for (const std::string_view part : split(trimmed(text), ',')) {
        const std::size_t dash = part.find('-');
        const auto first = parse_number<int>(part.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_number<int>(part.substr(dash + 1));
        if (!first || !last || *first < 0) return {};
        for (int core = *first; core <= *last; ++core)
            cores.push_back(core);
    }
    return cores;
}

}  // namespace rm
