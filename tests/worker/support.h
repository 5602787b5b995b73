#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "tests/support/temp_dir.h"

namespace rm {

// Polls every few milliseconds; the limit is generous for sanitizers and busy machines.
inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::seconds limit = std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

// worker_test_helper, built beside the test: a shim, ranks that behave as told, and a daemon to
// kill.
inline std::string helper_path() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "worker_test_helper")
        .string();
}
inline std::vector<std::string> helper_shim() {
    return {helper_path(), "shim"};
}
inline std::vector<std::string> helper_rank(const std::string& behaviour) {
    return {helper_path(), "rank", behaviour};
}

}  // namespace rm
