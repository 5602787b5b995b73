#include "controller/ops/checkpoints.h"

#include <filesystem>

namespace rm {
namespace {

// The newest that any attempt of the job has told of; empty: none.
std::string newest_heard_of(const State& state, const JobId& id) {
    const auto epochs = state.attempts_of.find(id);
    if (epochs == state.attempts_of.end()) return "";
    for (auto epoch = epochs->second.rbegin(); epoch != epochs->second.rend(); ++epoch) {
        const std::string& path = state.attempts.at(*epoch).checkpoint_path;
        if (!path.empty()) return path;
    }
    return "";
}

}  // namespace

std::string checkpoints_of(const State& state, const Job& job) {
    const std::string heard = newest_heard_of(state, job.id);
    if (heard.empty()) return "";
    // As the job says it: below a root each node has a path of its own.
    const std::string& dir = job.spec.checkpoint.dir;
    if (!dir.empty()) return dir + "/" + job.id.value;
    return std::filesystem::path(heard).parent_path().string();
}

}  // namespace rm
