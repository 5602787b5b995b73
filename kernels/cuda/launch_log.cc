#include "kernels/cuda/launch_log.h"

#include <cstdlib>

#include "base/format.h"

namespace rm {

void LaunchLog::kernel(std::string_view op, std::string_view kernel, simt::Extent grid, int threads,
                       std::size_t shared_bytes) {
    choice(op, format("{}, grid {} x {} x {}, {} threads, {} bytes shared", kernel, grid.x, grid.y,
                      grid.z, threads, shared_bytes));
}

void LaunchLog::choice(std::string_view op, std::string_view choice) {
    std::string line = format("kernels: {}: {}\n", op, choice);
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = seen_.insert(std::move(line));
    if (is_new) out_ << *at << std::flush;
}

bool explains(std::string_view topic) {
    const char* variable = std::getenv("RM_EXPLAIN");
    std::string_view topics = variable == nullptr ? "" : variable;
    while (!topics.empty()) {
        const std::size_t comma = topics.find(',');
        if (topics.substr(0, comma) == topic) return true;
        topics = comma == std::string_view::npos ? std::string_view() : topics.substr(comma + 1);
    }
    return false;
}

}  // namespace rm
