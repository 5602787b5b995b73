#include "kernels/cuda/library/cuda_device.h"

#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "kernels/queue_stream.h"

namespace rm {
namespace {

#ifdef RM_POISON
constexpr bool kPoison = true;
#else
constexpr bool kPoison = false;
#endif

// CUDA's current device is each thread's own.
cudaError_t set_device(int ordinal) {
    thread_local int current = -1;
    if (current == ordinal) return cudaSuccess;
    const cudaError_t status = cudaSetDevice(ordinal);
    if (status == cudaSuccess) current = ordinal;
    return status;
}
void use_device(int ordinal) {
    check_cuda("cudaSetDevice", set_device(ordinal));
}

// Events are made on demand and used again, so that a step makes none after the first.
class EventPool {
public:
    EventPool() = default;
    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;
    ~EventPool() {
        for (const cudaEvent_t event : free_)
            cudaEventDestroy(event);
    }
    // Null when the device fails: a record must complete all the same.
    cudaEvent_t take() noexcept {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            const cudaEvent_t event = free_.back();
            free_.pop_back();
            return event;
        }
        cudaEvent_t event = nullptr;
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync);
        return event;
    }
    void give_back(cudaEvent_t event) {
        const std::lock_guard lock(mutex_);
        free_.push_back(event);
    }

private:
    std::mutex mutex_;
    std::vector<cudaEvent_t> free_;
};

// Complete once the driver has it, or a host stream has reached it. Each record has a CUDA event of
// its own: a waiting stream asks the driver later, when the event may have been recorded anew.
class CudaRecord final : public EventRecord {
public:
    CudaRecord(EventPool& pool, int ordinal) : pool_(pool), ordinal_(ordinal) {}
    ~CudaRecord() override {
        if (event_ != nullptr) pool_.give_back(event_);
    }

    void wait() override {
        EventRecord::wait();
        if (event_ == nullptr) return;
        // A failure here also shows on the stream, where it has a name.
        set_device(ordinal_);
        cudaEventSynchronize(event_);
    }
    void record_on(cudaStream_t stream) {
        const cudaEvent_t event = pool_.take();
        if (event != nullptr && cudaEventRecord(event, stream) == cudaSuccess) {
            event_ = event;
        } else if (event != nullptr) {
            pool_.give_back(event);
        }
        complete();
    }
    void hold_back(cudaStream_t stream) {
        EventRecord::wait();
        if (event_ != nullptr) cudaStreamWaitEvent(stream, event_, 0);
    }

private:
    EventPool& pool_;
    const int ordinal_;
    cudaEvent_t event_ = nullptr;  // set before complete()
};

void run_host_call(void* data) {
    const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(data));
    (*work)();
}

class CudaBody final : public StreamBody {
public:
    explicit CudaBody(int ordinal)
        : ordinal_(ordinal), waits_for_each_op_(std::getenv("RM_CUDA_SYNC") != nullptr) {
        use_device(ordinal);
        check_cuda("cudaStreamCreate", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    CudaBody(const CudaBody&) = delete;
    CudaBody& operator=(const CudaBody&) = delete;
    ~CudaBody() override {
        set_device(ordinal_);
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }

    void run(const std::function<void()>& work) override {
        use_device(ordinal_);
        work();
        if (waits_for_each_op_) check_cuda("running it", cudaStreamSynchronize(stream_));
    }
    void call_host(std::function<void()> work) override {
        use_device(ordinal_);
        auto owned = std::make_unique<std::function<void()>>(std::move(work));
        check_cuda("cudaLaunchHostFunc", cudaLaunchHostFunc(stream_, run_host_call, owned.get()));
        owned.release();
    }
    void record(EventRecord& record) override {
        set_device(ordinal_);
        dynamic_cast<CudaRecord&>(record).record_on(stream_);
    }
    void wait(EventRecord& record) override {
        set_device(ordinal_);
        dynamic_cast<CudaRecord&>(record).hold_back(stream_);
    }
    std::exception_ptr finish() override {
        try {
            use_device(ordinal_);
            check_cuda("running it", cudaStreamSynchronize(stream_));
            return nullptr;
        } catch (...) {
            return std::current_exception();
        }
    }

    void* native() const override { return stream_; }

private:
    const int ordinal_;
    const bool waits_for_each_op_;
    cudaStream_t stream_ = nullptr;
};

class CudaDevice final : public Device {
public:
    explicit CudaDevice(int ordinal) : ordinal_(ordinal) { use_device(ordinal); }

    DeviceFacts facts() const override {
        use_device(ordinal_);
        cudaDeviceProp properties{};
        check_cuda("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, ordinal_));
        int driver = 0;
        check_cuda("cudaDriverGetVersion", cudaDriverGetVersion(&driver));
        std::size_t free = 0, memory = 0;
        check_cuda("cudaMemGetInfo", cudaMemGetInfo(&free, &memory));
        return {.product = properties.name,
                .driver = "CUDA " + cuda_version_text(driver),
                .memory = {static_cast<std::int64_t>(memory)},
                .free = {static_cast<std::int64_t>(free)}};
    }

    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return std::make_unique<QueueStream>(name, std::make_unique<CudaBody>(ordinal_));
    }
    std::unique_ptr<Stream> make_host_stream(std::string_view name) override {
        return std::make_unique<QueueStream>(name);
    }
    std::unique_ptr<Event> make_event() override {
        return std::make_unique<QueueEvent>(
            [this] { return std::make_shared<CudaRecord>(events_, ordinal_); });
    }
    void upload(const void* host, const TensorView& to, Stream& stream) override {
        stream.enqueue("upload", [host, to, native = native_stream(stream)] {
            check_cuda("cudaMemcpyAsync", cudaMemcpyAsync(to.data(), host, to.bytes().size(),
                                                          cudaMemcpyHostToDevice, native));
        });
    }
    void download(const TensorView& from, void* host, Stream& stream) override {
        stream.enqueue("download", [from, host, native = native_stream(stream)] {
            check_cuda("cudaMemcpyAsync", cudaMemcpyAsync(host, from.data(), from.bytes().size(),
                                                          cudaMemcpyDeviceToHost, native));
        });
    }

    bool host_visible() const override { return false; }
    void write(const void* host, const TensorView& to) override {
        copy("write", to.data(), host, to.bytes().size(), cudaMemcpyHostToDevice);
    }
    void read(const TensorView& from, void* host) override {
        copy("read", host, from.data(), from.bytes().size(), cudaMemcpyDeviceToHost);
    }
    void zero(const TensorView& tensor) override {
        fill("zero", tensor.data(), 0, tensor.bytes().size());
    }

    void copy_to(const TensorView& from, const CudaDevice& receiver, const TensorView& to,
                 Stream& stream) {
        RM_CHECK(from.num_bytes() == to.num_bytes(), "a copy of {} to {}", from.num_bytes(),
                 to.num_bytes());
        reach(receiver.ordinal_);
        stream.enqueue("copy", [from, to, sender = ordinal_, receiver = receiver.ordinal_,
                                native = native_stream(stream)] {
            check_cuda("cudaMemcpyPeerAsync",
                       cudaMemcpyPeerAsync(to.data(), receiver, from.data(), sender,
                                           from.bytes().size(), native));
        });
    }

protected:
    void* allocate_bytes(Bytes size) override {
        use_device(ordinal_);
        void* data = nullptr;
        const auto bytes = usize(size.value);
        const cudaError_t status = cudaMalloc(&data, bytes + 1);  // never zero
        if (status == cudaErrorMemoryAllocation) {
            cudaGetLastError();  // takes it off: running out is no fault of the device
            return nullptr;
        }
        check_cuda("cudaMalloc", status);
        if (kPoison) fill("poison", data, 0xff, bytes);
        return data;
    }
    // Blocks until the GPU is idle.
    void free_bytes(void* data, Bytes /*size*/) override {
        set_device(ordinal_);
        cudaFree(data);
    }
    void* allocate_pinned(Bytes size) override {
        use_device(ordinal_);
        void* data = nullptr;
        const cudaError_t status =
            cudaHostAlloc(&data, usize(size.value) + 1, cudaHostAllocPortable);
        if (status == cudaSuccess) return data;
        cudaGetLastError();
        return nullptr;
    }
    void free_pinned(void* data, Bytes /*size*/) override {
        set_device(ordinal_);
        cudaFreeHost(data);
    }

private:
    // Lets copies go directly where the GPUs can; without that the driver takes the host's memory.
    void reach(int other) {
        use_device(ordinal_);
        int can = 0;
        check_cuda("cudaDeviceCanAccessPeer", cudaDeviceCanAccessPeer(&can, ordinal_, other));
        if (can == 0) return;
        const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled) {
            cudaGetLastError();  // takes it off
            return;
        }
        check_cuda("cudaDeviceEnablePeerAccess", status);
    }
    // On the calling thread's own stream, so that threads do not wait for each other.
    void copy(std::string_view what, void* to, const void* from, std::size_t bytes,
              cudaMemcpyKind kind) {
        use_device(ordinal_);
        check_cuda(what, cudaMemcpyAsync(to, from, bytes, kind, cudaStreamPerThread));
        check_cuda(what, cudaStreamSynchronize(cudaStreamPerThread));
    }
    void fill(std::string_view what, void* data, int value, std::size_t bytes) {
        use_device(ordinal_);
        check_cuda(what, cudaMemsetAsync(data, value, bytes, cudaStreamPerThread));
        check_cuda(what, cudaStreamSynchronize(cudaStreamPerThread));
    }

    const int ordinal_;
    EventPool events_;
};

// The kind of failure; null: the program's.
std::exception_ptr cause_of(cudaError_t status, const std::string& message) {
    if (status == cudaErrorMemoryAllocation) return std::make_exception_ptr(std::bad_alloc());
    for (const cudaError_t fault :
         {cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorHardwareStackError,
          cudaErrorDevicesUnavailable, cudaErrorNoDevice, cudaErrorUnknown}) {
        if (status == fault) return std::make_exception_ptr(DeviceFault(message));
    }
    return nullptr;
}

}  // namespace

void check_cuda(std::string_view what, cudaError_t status) {
    if (status == cudaSuccess) return;
    const std::string message =
        format("{}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
    throw StreamError(message, cause_of(status, message));
}

std::string cuda_version_text(int version) {
    return format("{}.{}", version / 1000, version % 1000 / 10);
}

cudaStream_t native_stream(Stream& stream) {
    auto* queue = dynamic_cast<QueueStream*>(&stream);
    auto* body = queue == nullptr ? nullptr : dynamic_cast<CudaBody*>(&queue->body());
    RM_CHECK(body != nullptr, "a stream of another device was given to a CUDA kernel");
    return static_cast<cudaStream_t>(body->native());
}

void copy_between_gpus(Device& sender, const TensorView& from, Device& receiver,
                       const TensorView& to, Stream& stream) {
    dynamic_cast<CudaDevice&>(sender).copy_to(from, dynamic_cast<CudaDevice&>(receiver), to,
                                              stream);
}

std::unique_ptr<Device> make_cuda_device(int ordinal) {
    return std::make_unique<CudaDevice>(ordinal);
}

GpuProfile cuda_profile(int ordinal) {
    const auto attribute = [&](cudaDeviceAttr which) {
        int value = 0;
        check_cuda("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&value, which, ordinal));
        return value;
    };
    return {.arch = attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                    attribute(cudaDevAttrComputeCapabilityMinor),
            .num_sms = attribute(cudaDevAttrMultiProcessorCount),
            .shared_per_block = {attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)},
            .l2 = {attribute(cudaDevAttrL2CacheSize)}};
}

}  // namespace rm
