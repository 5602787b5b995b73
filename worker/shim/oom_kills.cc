#include "worker/shim/oom_kills.h"

#include <fstream>
#include <optional>

namespace rm {
namespace {

std::optional<std::int64_t> count_in(const std::string& file) {
    std::ifstream lines(file);
    std::string key;
    std::int64_t count = 0;
    while (lines >> key >> count) {
        if (key == "oom_kill") return count;
    }
    return std::nullopt;
}

}  // namespace

OomKills::OomKills(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
        const std::optional<std::int64_t> count = count_in(file);
        if (!count) continue;
        file_ = file;
        at_first_ = *count;
        return;
    }
}

bool OomKills::have_risen() const {
    return count_in(file_).value_or(0) > at_first_;
}

std::vector<std::string> OomKills::files_of_this_process() {
    std::vector<std::string> files;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t path = line.find(":/");
        if (path == std::string::npos) continue;
        if (line.starts_with("0::"))
            files.push_back("/sys/fs/cgroup" + line.substr(path + 1) + "/memory.events");
        if (line.find(":memory:") != std::string::npos)
            files.push_back("/sys/fs/cgroup/memory" + line.substr(path + 1) +
                            "/memory.oom_control");
    }
    files.emplace_back("/proc/vmstat");
    return files;
}

}  // namespace rm
