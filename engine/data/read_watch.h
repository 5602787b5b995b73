#pragma once

#include <cstdint>
#include <string_view>

#include "base/fault.h"
#include "base/result.h"

namespace rm {

// The one that waits while data is opened, looked through or hashed.
struct ReadWatch {
    Activity* activity = nullptr;  // counts bytes; cancelled: reading ends
    Faults* faults = nullptr;
    std::string_view slow_point = "data.slow_read";  // a piece takes long

    // Before they are read. An entry of a directory counts as a byte.
    Status pass(std::int64_t bytes = 1) const {
        pass_slowly(faults, slow_point);
        if (activity == nullptr) return {};
        activity->done += bytes;
        return activity->check();
    }
};

}  // namespace rm
