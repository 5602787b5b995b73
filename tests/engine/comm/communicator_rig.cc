#include "tests/engine/comm/communicator_rig.h"

#include <algorithm>
#include <utility>

namespace rm::testing {

void NotingStream::queue(const QueuedWork& what, std::function<void()> work) {
    notes_.push_back({std::string(what.op),
                      {what.reads.begin(), what.reads.end()},
                      {what.writes.begin(), what.writes.end()},
                      {what.traffic.begin(), what.traffic.end()}});
    stream_.queue(what, std::move(work));
}

std::map<std::string, std::int64_t> NotingStream::bytes_by_name() const {
    std::map<std::string, std::int64_t> bytes;
    for (const Note& note : notes_) {
        const std::string op = note.op.substr(note.op.find(' '));
        for (const Traffic& traffic : note.traffic) {
            const auto key = to_string(static_cast<GroupKey>(traffic.group));
            bytes[std::string(key) + op] += traffic.bytes.value;
        }
    }
    std::erase_if(bytes, [](const auto& entry) { return entry.second == 0; });
    return bytes;
}

Tensor filled(Device& device, std::int64_t count, float value) {
    Tensor tensor(device, MemoryKind::communication, DType::f32, {count});
    std::fill_n(tensor->as<float>(), count, value);
    return tensor;
}

}  // namespace rm::testing
