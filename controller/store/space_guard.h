#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace rm {

// Free bytes below which the controller refuses something. It never refuses control writes: they
// have the reserve.
struct SpaceMarks {
    Bytes telemetry{512 << 20};  // step reports and logs are refused
    Bytes submits{128 << 20};    // submits are refused
    Bytes reserve{8 << 20};      // size of the file removed to make room for control writes
    int telemetry_percent = 5;   // of the file system; bounds `telemetry`
};

// Watches the file system of the state directory. Thread safe.
class SpaceGuard {
public:
    // Marks are lowered on a small file system: to 5 (telemetry_percent), 2 and 5 percent of it.
    static Result<std::unique_ptr<SpaceGuard>> open(const std::string& directory, SpaceMarks marks);

    Bytes free_bytes() const;
    const std::string& directory() const { return directory_; }
    // RESOURCE_EXHAUSTED says how much is free, how much is needed and where.
    Status check_submit() const;
    // Whether telemetry is refused now: workers keep it and send it again. Refusals are counted.
    bool refuses_telemetry() const { return free_bytes() < marks_.telemetry; }
    void count_refused(std::int64_t pieces) { refused_ += pieces; }
    std::int64_t refused() const { return refused_; }

    // Frees the reserve's space for a control write; false: it was free already.
    bool release_reserve();
    // Allocates the reserve again once it fits above the submits mark.
    void restore_reserve();

private:
    SpaceGuard(std::string directory, SpaceMarks marks)
        : directory_(std::move(directory)), marks_(marks) {}

    const std::string directory_;
    const SpaceMarks marks_;
    std::atomic<std::int64_t> refused_{0};
    std::mutex mutex_;
    std::atomic<bool> reserved_ = false;
};

}  // namespace rm
