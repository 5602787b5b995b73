#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "kernels/device.h"

// A rank's queued work as data: recorded by the `meta` device, read by the arena planner, the race
// checker and the clock (engine/schedule). Nothing here has memory or runs.
namespace rm {

// Addresses are the meta device's own: it never gives one out twice, and ranges of different
// allocations never meet.
struct AddressRange {
    std::uint64_t address = 0;
    std::int64_t size = 0;  // bytes
};

// A buffer of an arena, requested and released in the order of the host's calls, which for the
// compute stream is its own: a buffer is released when all that touched it has been joined to the
// compute stream, and what touches it first is ordered after what the compute stream had queued at
// its request.
struct ScheduledBuffer {
    std::string name;
    int arena = 0;   // of the device 0, of the host 1
    int group = -1;  // planned together, see ArenaTrace; -1: none
    AddressRange range;
};
constexpr int kDeviceArena = 0;
constexpr int kHostArena = 1;

struct ScheduleItem {
    // join: the host waits until the stream is empty; all that comes later is after it.
    enum class Kind : std::uint8_t { work, record, wait, join, request, release, mark };
    Kind kind = Kind::work;
    std::uint8_t stream = 0;            // of work, record, wait, join
    OpClass op_class = OpClass::other;  // of work
    // work, mark: of StepSchedule::names. wait: the item of the record it waits for. request,
    // release: of StepSchedule::buffers.
    std::uint32_t index = 0;
    // work: its ranges, the reads before the writes, and its traffic.
    std::uint32_t first_range = 0;
    std::uint16_t num_reads = 0;
    std::uint16_t num_writes = 0;
    std::uint32_t first_traffic = 0;
    std::uint32_t num_traffic = 0;
    Seconds seconds;   // work without traffic: how long it takes alone
    double flops = 0;  // of work
};

// In the order of the host's calls. Waits for events that were never recorded are left out, as no
// stream waits for them.
struct StepSchedule {
    std::vector<std::string> streams;
    std::vector<std::string> names;  // of ops
    std::vector<ScheduleItem> items;
    std::vector<AddressRange> ranges;
    std::vector<Traffic> traffic;
    std::vector<ScheduledBuffer> buffers;

    std::span<const AddressRange> reads(const ScheduleItem& item) const {
        return std::span(ranges).subspan(item.first_range, item.num_reads);
    }
    std::span<const AddressRange> writes(const ScheduleItem& item) const {
        return std::span(ranges).subspan(item.first_range + item.num_reads, item.num_writes);
    }
    std::span<const Traffic> sent(const ScheduleItem& item) const {
        return std::span(traffic).subspan(item.first_traffic, item.num_traffic);
    }
};

// Gives the memory of a schedule that is not read any more to this thread's next recorder: its
// pages cost more than what is written to them.
void recycle(StepSchedule&& schedule);

// The work whose ranges a schedule has: times and bytes need those of transfers only, races all.
enum class KeptRanges { all, of_transfers };

// Records a schedule. Not thread safe.
class ScheduleRecorder {
public:
    explicit ScheduleRecorder(KeptRanges ranges = KeptRanges::all);

    int add_stream(std::string_view name);
    struct Cost {
        Seconds seconds;
        double flops = 0;
    };
    void work(int stream, const QueuedWork& what, Cost cost);
    // Returns the item, which a wait names.
    std::uint32_t record(int stream);
    void wait(int stream, std::uint32_t record);
    // Returns the buffer's index.
    std::uint32_t request(ScheduledBuffer buffer);
    void release(std::uint32_t buffer);
    void join(int stream);
    void mark(std::string_view name);  // where the host is: the begin and end of steps and passes

    const StepSchedule& schedule() const { return schedule_; }
    StepSchedule take() { return std::move(schedule_); }

private:
    void add(ScheduleItem item) { schedule_.items.push_back(item); }
    std::uint32_t name_index(std::string_view name);
    std::uint32_t find_name(std::string_view name);
    void add_ranges(std::span<const MemoryRange> ranges);

    // Looked up by views: an op that has a name costs no allocation.
    struct NameHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const {
            return std::hash<std::string_view>()(name);
        }
    };
    const KeptRanges ranges_;
    StepSchedule schedule_;
    std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> names_;
    struct RecentName {
        const char* data = nullptr;
        std::uint32_t index = 0;
    };
    std::array<RecentName, 61> recent_;  // by the hash of `data`
};

}  // namespace rm
