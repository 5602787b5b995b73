#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/meta/schedule.h"

namespace rm::test {

// Bytes [begin, end) of a hand-made schedule's address space.
struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

struct Touch {
    std::vector<Span> reads;
    std::vector<Span> writes;
};

// The streams of hand-made schedules.
constexpr int kCompute = 0;
constexpr int kCommunication = 1;
constexpr int kHost = 2;

class ScheduleBuilder {
public:
    ScheduleBuilder();

    // Each function returns the new item.
    std::uint32_t work(int stream, std::string_view op, const Touch& touch = {},
                       double seconds = 0);
    std::uint32_t send(int stream, std::string_view op, const std::vector<Traffic>& traffic,
                       const Touch& touch = {});
    std::uint32_t record(int stream);
    std::uint32_t wait(int stream, std::uint32_t record);
    std::uint32_t join(int stream);
    std::uint32_t mark(std::string_view name);
    // `stream` waits for all work queued on `awaited`; returns the wait.
    std::uint32_t order(int awaited, int stream);
    // Returns the new buffer.
    std::uint32_t request(std::string name, Span bytes, int arena = kDeviceArena, int group = -1);
    std::uint32_t release(std::uint32_t buffer);

    const StepSchedule& schedule() const { return recorder_.schedule(); }

private:
    std::uint32_t last() const;
    std::uint32_t queue(int stream, std::string_view op, const Touch& touch,
                        const std::vector<Traffic>& traffic, double seconds);

    ScheduleRecorder recorder_;
};

}  // namespace rm::test
