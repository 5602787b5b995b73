#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/memory/arena_trace.h"
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

    // Nothing for a range outside all buffers. CheckError for a range that lies only partly
    // in a buffer.
    std::optional<std::uint32_t> find(const AddressRange& range) const;

private:
    std::span<const ScheduledBuffer> buffers_;
    std::vector<std::uint32_t> by_address_;  // those that have bytes
};

// An arena's buffers, in the order of their requests, which is that of its plan.
std::vector<std::uint32_t> buffers_of_arena(const StepSchedule& schedule, int arena);

// Returns the schedule with every buffer of the arenas at its planned offset (an arena per entry of
// `plans`, device then host), so that buffers that share bytes overlap. Ranges outside keep their
// addresses, which no arena overlaps.
StepSchedule place_buffers(const StepSchedule& schedule, std::span<const ArenaPlan> plans);

}  // namespace rm
