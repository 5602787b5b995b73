#pragma once

#include <cstddef>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <string_view>

#include "kernels/simt/emulator.h"

namespace rm {

// RM_EXPLAIN=kernels: what was chosen for which sizes, one line per distinct choice.
class LaunchLog {
public:
    explicit LaunchLog(std::ostream& out) : out_(out) {}

    // `op` with its sizes is done by `kernel`.
    void kernel(std::string_view op, std::string_view kernel, simt::Extent grid, int threads,
                std::size_t shared_bytes);
    // ... or by anything else, such as an algorithm of a library.
    void choice(std::string_view op, std::string_view choice);

private:
    std::mutex mutex_;
    std::ostream& out_;
    std::set<std::string> seen_;
};

// Whether the comma-separated list in the environment variable RM_EXPLAIN has `topic`.
bool explains(std::string_view topic);

}  // namespace rm
