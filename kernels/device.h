#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "kernels/tensor.h"

// The backend-neutral runtime: memory, streams and events. CUDA's rules hold on every backend: work
// on one stream runs in order, streams are ordered by events only.
namespace rm {

// The purpose of a buffer; memory is reported by kind.
enum class MemoryKind {
    weights,
    gradients,
    optimizer,
    activations,
    workspace,
    communication,
    data
};
constexpr std::size_t kNumMemoryKinds = 7;
std::string_view to_string(MemoryKind kind);

class Device;

// An allocation that a device or the host refused: how much was asked for, for what.
class OutOfMemory : public std::bad_alloc {
public:
    explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

private:
    std::string message_;
};

// Owns device memory; returns it to its device when destroyed. The device outlives its buffers.
class Buffer {
public:
    Buffer() = default;
    Buffer(Device& device, void* data, Bytes size, MemoryKind kind)
        : device_(&device), data_(data), size_(size), kind_(kind) {}
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer moved(std::move(other));
        swap(moved);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    void* data() const { return data_; }
    Bytes size() const { return size_; }
    MemoryKind kind() const { return kind_; }

private:
    void swap(Buffer& other) noexcept;

    Device* device_ = nullptr;
    void* data_ = nullptr;
    Bytes size_;
    MemoryKind kind_ = MemoryKind::workspace;
};

// A point in a stream's work. Reused: a wait refers to the latest record before it.
class Event {
public:
    virtual ~Event() = default;
};

struct MemoryRange {
    const void* data = nullptr;
    Bytes size;
};
inline MemoryRange range_of(const TensorView& x) {
    return {x.data(), x.num_bytes()};
}

// The messages that this rank sends in one collective: `bytes` in `messages` equal ones after each
// other. `group` is the engine's number of the group of ranks.
struct Traffic {
    int group = 0;
    std::int64_t messages = 0;
    Bytes bytes;
};

// The kinds of queued work that predictions tell apart.
enum class OpClass : std::uint8_t {
    other,
    attention,
    products,  // with the head
    optimizer,
    prepare,  // weights for the passes
    upload,
    download
};

// Describes queued work, for memory plans, the race checker and predictions.
struct QueuedWork {
    std::string_view op;
    std::span<const MemoryRange> reads;
    std::span<const MemoryRange> writes;  // also what is read and written
    std::span<const Traffic> traffic;     // that goes at once
    OpClass op_class = OpClass::other;
};

// Work in order, asynchronous to the host. The first error of a queued op is sticky: later work is
// skipped (events still complete, so no other stream hangs) and every synchronize() rethrows it as
// StreamError naming the op.
class Stream {
public:
    virtual ~Stream() = default;
    // Queues work of the stream's owner. On a device's stream that is its kernels' alone: a host
    // device computes here, a GPU's launchers launch. On a host stream it is the engine's: sends,
    // receives, writes.
    virtual void enqueue(std::string_view op, std::function<void()> work) = 0;
    // The same for the engine's own work on a host stream.
    virtual void queue(const QueuedWork& what, std::function<void()> work) {
        enqueue(what.op, std::move(work));
    }
    // Queues work that a library launches on the device's own stream: `launch` returns at once and
    // gets the stream as libraries know it, a cudaStream_t; null where the stream is a host thread,
    // which runs the work itself.
    virtual void launch(const QueuedWork& what, std::function<void(void* native)> launch) {
        queue(what, [launch = std::move(launch)] { launch(nullptr); });
    }
    // Host work in the stream's order that touches no device memory, calls no device and never
    // blocks: marks and clocks.
    virtual void call_host(std::string_view op, std::function<void()> work) = 0;
    // Ops queued so far, clocks and marks not counted. For the thread that queues.
    virtual std::int64_t num_queued() const = 0;
    virtual void record(Event& event) = 0;
    virtual void wait(const Event& event) = 0;  // later work waits for the event's latest record
    virtual void synchronize() = 0;
    // Makes the stream fail at once, as if `op` had thrown `cause`. Any thread.
    virtual void fail(std::string_view op, std::exception_ptr cause) {
        enqueue(op, [cause = std::move(cause)] { std::rethrow_exception(cause); });
    }
};

class StreamError : public std::runtime_error {
public:
    explicit StreamError(const std::string& message, std::exception_ptr cause = nullptr)
        : std::runtime_error(message), cause_(std::move(cause)) {}
    // The exception that the op threw, which shows the kind of failure; null when it was no
    // exception.
    const std::exception_ptr& cause() const { return cause_; }

private:
    std::exception_ptr cause_;
};

// The cause of a StreamError where the device does not answer as it should: its memory is damaged,
// it has left the bus. Another device may do the same work. (Where a device has no more memory the
// cause is std::bad_alloc.)
class DeviceFault : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Owns host memory that its device copies to and from at full speed. The device outlives it.
class PinnedBuffer {
public:
    PinnedBuffer() = default;
    PinnedBuffer(Device& device, Bytes size);
    PinnedBuffer(PinnedBuffer&& other) noexcept { swap(other); }
    PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
        PinnedBuffer moved(std::move(other));
        swap(moved);
        return *this;
    }
    PinnedBuffer(const PinnedBuffer&) = delete;
    PinnedBuffer& operator=(const PinnedBuffer&) = delete;
    ~PinnedBuffer();

    std::byte* data() const { return data_; }
    std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_.value)}; }

private:
    void swap(PinnedBuffer& other) noexcept;

    Device* device_ = nullptr;
    std::byte* data_ = nullptr;
    Bytes size_;
};

// A device as its driver sees it. Empty and 0 where the device's memory is the host's.
struct DeviceFacts {
    std::string product;  // "NVIDIA L40S"
    std::string driver;   // "CUDA 13.0": the newest that it serves
    Bytes memory;         // all of it
    Bytes free;           // at this moment, of all processes
};

class Device {
public:
    virtual ~Device() = default;
    virtual DeviceFacts facts() const { return {}; }
    // Fresh memory is NaN-filled when RM_POISON is set. Not called between step begin and end.
    Buffer allocate(Bytes size, MemoryKind kind);
    virtual std::unique_ptr<Stream> make_stream(std::string_view name) = 0;
    // A stream of host work (communication, files) that events order with the device's streams.
    // Queued work may block, and reaches device memory by read and write only.
    virtual std::unique_ptr<Stream> make_host_stream(std::string_view name) = 0;
    virtual std::unique_ptr<Event> make_event() = 0;
    // Host memory to device and back, in stream order; `host` must live until the stream has passed
    // it.
    virtual void upload(const void* host, const TensorView& to, Stream& stream) = 0;
    virtual void download(const TensorView& from, void* host, Stream& stream) = 0;

    // Whether host code may touch the memory of tensors. Where it may not, it copies:
    virtual bool host_visible() const = 0;
    // Host memory to device and back, done on return. Any thread; the caller knows that no stream
    // is at the tensor.
    virtual void write(const void* host, const TensorView& to) = 0;
    virtual void read(const TensorView& from, void* host) = 0;
    virtual void zero(const TensorView& tensor) = 0;  // likewise

    Bytes allocated(MemoryKind kind) const { return allocated_[static_cast<std::size_t>(kind)]; }
    Bytes allocated() const;

protected:
    // 64-byte aligned at least; null when there is not enough.
    virtual void* allocate_bytes(Bytes size) = 0;
    virtual void free_bytes(void* data, Bytes size) = 0;
    // Page-aligned; null when there is not enough.
    virtual void* allocate_pinned(Bytes size) = 0;
    virtual void free_pinned(void* data, Bytes size) = 0;

private:
    friend class Buffer;
    friend class PinnedBuffer;
    std::array<Bytes, kNumMemoryKinds> allocated_{};
};

// A tensor with its memory.
class Tensor {
public:
    Tensor() = default;
    Tensor(Device& device, MemoryKind kind, DType dtype, std::initializer_list<std::int64_t> shape);
    const TensorView& view() const { return view_; }
    operator const TensorView&() const { return view_; }  // NOLINT(google-explicit-constructor)
    const TensorView* operator->() const { return &view_; }

private:
    Buffer buffer_;
    TensorView view_;
};

// The device of the host backends (`cpu`, `ref`): aligned host memory, one thread per stream; host
// code may touch all of it.
std::unique_ptr<Device> make_host_device();

}  // namespace rm
