#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/meta/schedule.h"

namespace rm {

inline std::uint64_t end_of(const AddressRange& range) {
    return range.address + static_cast<std::uint64_t>(range.size);
}

// Finds the buffer that a range lies in. Buffers that share addresses, as placed ones do, have no
// index: CheckError names two of them.
class BufferIndex {
public:
    // Borrows the buffers.
    explicit BufferIndex(std::span<const ScheduledBuffer> buffers);

    // Nothing for a range outside of all. CheckError for one that lies in a buffer with a part
    // only.
    std::optional<std::uint32_t> find(const AddressRange& range) const;

private:
    std::span<const ScheduledBuffer> buffers_;
    std::vector<std::uint32_t> by_address_;  // those that have bytes
};

// Items; kNever where there is none.
struct BufferLife {
    static constexpr std::int64_t kNever = -1;
    std::int64_t request = kNever;
    std::int64_t release = kNever;
};

// Each buffer's life. Errors: one is requested or released twice, or released before its request.
Result<std::vector<BufferLife>> buffer_lives(const StepSchedule& schedule);

}  // namespace rm
