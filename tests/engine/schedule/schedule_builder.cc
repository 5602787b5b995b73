#include "tests/engine/schedule/schedule_builder.h"

#include <bit>

namespace rm::test {
namespace {

std::vector<MemoryRange> ranges_of(const std::vector<Span>& spans) {
    std::vector<MemoryRange> ranges;
    for (const Span& span : spans) {
        ranges.push_back({std::bit_cast<const void*>(static_cast<std::uintptr_t>(span.begin)),
                          Bytes{static_cast<std::int64_t>(span.end - span.begin)}});
    }
    return ranges;
}

}  // namespace

ScheduleBuilder::ScheduleBuilder() {
    for (const char* name : {"compute", "communication", "host"})
        recorder_.add_stream(name);
}

std::uint32_t ScheduleBuilder::last() const {
    return static_cast<std::uint32_t>(schedule().items.size()) - 1;
}

std::uint32_t ScheduleBuilder::queue(int stream, std::string_view op, const Touch& touch,
                                     const std::vector<Traffic>& traffic, double seconds) {
    const auto reads = ranges_of(touch.reads);
    const auto writes = ranges_of(touch.writes);
    recorder_.work(stream, {.op = op, .reads = reads, .writes = writes, .traffic = traffic},
                   {.seconds = Seconds{seconds}});
    return last();
}

std::uint32_t ScheduleBuilder::work(int stream, std::string_view op, const Touch& touch,
                                    double seconds) {
    return queue(stream, op, touch, {}, seconds);
}

std::uint32_t ScheduleBuilder::send(int stream, std::string_view op,
                                    const std::vector<Traffic>& traffic, const Touch& touch) {
    return queue(stream, op, touch, traffic, 0);
}

std::uint32_t ScheduleBuilder::record(int stream) {
    return recorder_.record(stream);
}

std::uint32_t ScheduleBuilder::wait(int stream, std::uint32_t record) {
    recorder_.wait(stream, record);
    return last();
}

std::uint32_t ScheduleBuilder::join(int stream) {
    recorder_.join(stream);
    return last();
}

std::uint32_t ScheduleBuilder::mark(std::string_view name) {
    recorder_.mark(name);
    return last();
}

std::uint32_t ScheduleBuilder::order(int awaited, int stream) {
    return wait(stream, record(awaited));
}

std::uint32_t ScheduleBuilder::request(std::string name, Span bytes, int arena, int group) {
    return recorder_.request(
        {.name = std::move(name),
         .arena = arena,
         .group = group,
         .range = {bytes.begin, static_cast<std::int64_t>(bytes.end - bytes.begin)}});
}

std::uint32_t ScheduleBuilder::release(std::uint32_t buffer) {
    recorder_.release(buffer);
    return last();
}

}  // namespace rm::test
