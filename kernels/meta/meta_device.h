#pragma once

#include <cstdint>
#include <optional>

#include "kernels/meta/device_profile.h"
#include "kernels/meta/schedule.h"

// The meta device's memory and streams; see meta_kernels.h.
namespace rm {

// Where its latest record is in the schedule.
class MetaEvent final : public Event {
public:
    std::optional<std::uint32_t> latest;  // nothing: never recorded
};

// Records its work and runs none of it.
class MetaStream final : public Stream {
public:
    // Borrows both; without a profile nothing takes time.
    MetaStream(ScheduleRecorder& recorder, std::string_view name,
               const DeviceProfile* profile = nullptr);

    // Work that takes time.
    void add(const QueuedWork& what, ScheduleRecorder::Cost cost) {
        recorder_.work(index_, what, cost);
        ++num_queued_;
    }
    std::int64_t num_queued() const override { return num_queued_; }
    void enqueue(std::string_view op, std::function<void()> work) override;
    // Work that sends no message moves bytes between device and host, as a download does.
    void queue(const QueuedWork& what, std::function<void()> work) override;
    // Marks and clocks of a real run: not a part of the schedule.
    void call_host(std::string_view /*op*/, std::function<void()> /*work*/) override {}
    void record(Event& event) override;
    void wait(const Event& event) override;
    void synchronize() override { recorder_.join(index_); }

private:
    ScheduleRecorder& recorder_;
    const OpTimes download_;
    int index_ = 0;
    std::int64_t num_queued_ = 0;
};
MetaStream& meta_stream(Stream& stream);  // a stream of another device is a CheckError

// Addresses, device's and pinned host's alike, lie where no process has memory, each is given out
// once, and between two allocations there is a gap: a range that is too long meets nothing.
class MetaDevice final : public Device {
public:
    // Borrows both; without a profile transfers take no time.
    MetaDevice(ScheduleRecorder& recorder, const DeviceProfile* profile, bool host_visible)
        : recorder_(recorder),
          profile_(profile),
          upload_(profile, "upload"),
          download_(profile, "download"),
          host_visible_(host_visible) {}

    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return std::make_unique<MetaStream>(recorder_, name, profile_);
    }
    std::unique_ptr<Stream> make_host_stream(std::string_view name) override {
        return make_stream(name);
    }
    std::unique_ptr<Event> make_event() override { return std::make_unique<MetaEvent>(); }
    void upload(const void* host, const TensorView& to, Stream& stream) override;
    void download(const TensorView& from, void* host, Stream& stream) override;

    bool host_visible() const override { return host_visible_; }
    // There is no memory to read or write: `host` keeps its contents.
    void write(const void* /*host*/, const TensorView& /*to*/) override {}
    void read(const TensorView& /*from*/, void* /*host*/) override {}
    void zero(const TensorView& /*tensor*/) override {}

protected:
    void* allocate_bytes(Bytes size) override { return next(size, 64); }
    void free_bytes(void* /*data*/, Bytes /*size*/) override {}
    void* allocate_pinned(Bytes size) override { return next(size, 4096); }
    void free_pinned(void* /*data*/, Bytes /*size*/) override {}

private:
    void transfer(OpClass direction, MemoryRange from, MemoryRange to, Stream& stream);
    void* next(Bytes size, std::uint64_t alignment);

    ScheduleRecorder& recorder_;
    const DeviceProfile* profile_ = nullptr;
    const OpTimes upload_, download_;
    bool host_visible_;
    std::uint64_t used_ = std::uint64_t{1} << 56;
};

}  // namespace rm
