#include "kernels/meta/meta_device.h"

#include <array>
#include <bit>
#include <limits>
#include <typeinfo>

#include "base/check.h"
#include "kernels/meta/device_profile.h"

namespace rm {
namespace {

constexpr std::uint64_t kGap = 64;

double bytes_of(std::span<const MemoryRange> ranges) {
    double bytes = 0;
    for (const MemoryRange& range : ranges)
        bytes += static_cast<double>(range.size.value);
    return bytes;
}

}  // namespace

MetaStream::MetaStream(ScheduleRecorder& recorder, std::string_view name,
                       const DeviceProfile* profile)
    : recorder_(recorder), download_(profile, "download"), index_(recorder.add_stream(name)) {
    RM_CHECK(index_ <= std::numeric_limits<std::uint8_t>::max(), "{} streams; a schedule has 256",
             index_ + 1);
}

void MetaStream::enqueue(std::string_view op, std::function<void()> /*work*/) {
    add({.op = op, .reads = {}, .writes = {}, .traffic = {}}, {});
}

void MetaStream::queue(const QueuedWork& what, std::function<void()> /*work*/) {
    ScheduleRecorder::Cost cost;
    if (what.traffic.empty()) cost.seconds = download_.of(work_of_bytes(bytes_of(what.writes)));
    add(what, cost);
}

void MetaStream::record(Event& event) {
    dynamic_cast<MetaEvent&>(event).latest = recorder_.record(index_);
}

void MetaStream::wait(const Event& event) {
    const auto& latest = dynamic_cast<const MetaEvent&>(event).latest;
    if (latest) recorder_.wait(index_, *latest);
}

MetaStream& meta_stream(Stream& stream) {
    // Compares types: a cast that walks their bases takes a part of each item's time.
    RM_CHECK(typeid(stream) == typeid(MetaStream), "meta was given a stream of another device");
    return static_cast<MetaStream&>(stream);
}

void MetaDevice::upload(const void* host, const TensorView& to, Stream& stream) {
    transfer(OpClass::upload, {host, to.num_bytes()}, range_of(to), stream);
}

void MetaDevice::download(const TensorView& from, void* host, Stream& stream) {
    transfer(OpClass::download, range_of(from), {host, from.num_bytes()}, stream);
}

void MetaDevice::transfer(OpClass direction, MemoryRange from, MemoryRange to, Stream& stream) {
    const std::string_view op = direction == OpClass::upload ? "upload" : "download";
    const std::array reads{from}, writes{to};
    const OpTimes& times = direction == OpClass::upload ? upload_ : download_;
    const Seconds seconds = times.of(work_of_bytes(static_cast<double>(to.size.value)));
    meta_stream(stream).add(
        {.op = op, .reads = reads, .writes = writes, .traffic = {}, .op_class = direction},
        {.seconds = seconds});
}

void* MetaDevice::next(Bytes size, std::uint64_t alignment) {
    const std::uint64_t at = (used_ + kGap + alignment - 1) / alignment * alignment;
    used_ = at + static_cast<std::uint64_t>(size.value);
    return std::bit_cast<void*>(at);
}

}  // namespace rm
