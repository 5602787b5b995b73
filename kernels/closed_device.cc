#include "kernels/closed_device.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <mutex>

#include "kernels/queue_stream.h"

namespace rm {
namespace {

constexpr std::size_t kAlignment = 256;  // as cudaMalloc

// Address space that is accessible while it is held open. Fresh and freed memory is all ones: NaN
// in every floating type.
class Arena {
public:
    explicit Arena(Bytes size) : size_(static_cast<std::size_t>(size.value)), base_(map(size_)) {
        RM_CHECK(base_ != MAP_FAILED, "no address space for an arena of {}", size);
        free_[0] = size_;
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { ::munmap(base_, size_); }

    void open() {
        const std::lock_guard lock(mutex_);
        if (num_open_++ == 0) protect(PROT_READ | PROT_WRITE);
    }
    void close() {
        const std::lock_guard lock(mutex_);
        if (--num_open_ == 0) protect(PROT_NONE);
    }

    void* take(std::size_t size) {
        const std::lock_guard lock(mutex_);
        for (const auto& [offset, room] : free_) {
            if (room < size) continue;
            if (room > size) free_[offset + size] = room - size;
            const std::size_t taken = offset;
            free_.erase(taken);
            return base_ + taken;
        }
        return nullptr;
    }
    Bytes size() const { return {static_cast<std::int64_t>(size_)}; }
    Bytes free() const {
        const std::lock_guard lock(mutex_);
        std::size_t free = 0;
        for (const auto& [offset, room] : free_)
            free += room;
        return {static_cast<std::int64_t>(free)};
    }
    void give_back(void* data, std::size_t size) {
        const std::lock_guard lock(mutex_);
        auto at = free_.emplace(static_cast<std::byte*>(data) - base_, size).first;
        if (const auto next = std::next(at);
            next != free_.end() && at->first + at->second == next->first) {
            at->second += next->second;
            free_.erase(next);
        }
        if (at == free_.begin()) return;
        if (const auto before = std::prev(at); before->first + before->second == at->first) {
            before->second += at->second;
            free_.erase(at);
        }
    }

private:
    static std::byte* map(std::size_t size) {
        constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        return static_cast<std::byte*>(::mmap(nullptr, size, PROT_NONE, kFlags, -1, 0));
    }
    void protect(int how) { RM_CHECK(::mprotect(base_, size_, how) == 0, "mprotect failed"); }

    const std::size_t size_;
    std::byte* const base_;
    mutable std::mutex mutex_;
    int num_open_ = 0;
    std::map<std::size_t, std::size_t> free_;  // offset -> bytes
};

class Open {
public:
    explicit Open(Arena& arena) : arena_(arena) { arena_.open(); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { arena_.close(); }

private:
    Arena& arena_;
};

class OpeningBody final : public StreamBody {
public:
    explicit OpeningBody(Arena& arena) : arena_(arena) {}
    void run(const std::function<void()>& work) override {
        const Open open(arena_);
        work();
    }

private:
    Arena& arena_;
};

class ClosedDevice final : public Device {
public:
    explicit ClosedDevice(Bytes memory) : arena_(memory) {}

    DeviceFacts facts() const override {
        return {.product = "emulated GPU",
                .driver = "",
                .memory = arena_.size(),
                .free = arena_.free()};
    }

    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return std::make_unique<QueueStream>(name, std::make_unique<OpeningBody>(arena_));
    }
    std::unique_ptr<Stream> make_host_stream(std::string_view name) override {
        return host_->make_host_stream(name);
    }
    std::unique_ptr<Event> make_event() override { return host_->make_event(); }
    void upload(const void* host, const TensorView& to, Stream& stream) override {
        host_->upload(host, to, stream);
    }
    void download(const TensorView& from, void* host, Stream& stream) override {
        host_->download(from, host, stream);
    }
    bool host_visible() const override { return false; }
    void write(const void* host, const TensorView& to) override {
        const Open open(arena_);
        host_->write(host, to);
    }
    void read(const TensorView& from, void* host) override {
        const Open open(arena_);
        host_->read(from, host);
    }
    void zero(const TensorView& tensor) override {
        const Open open(arena_);
        host_->zero(tensor);
    }

    // On a stream of this device, where its memory is open.
    void copy_from(const TensorView& from, ClosedDevice& receiver, const TensorView& to,
                   Stream& stream) {
        RM_CHECK(from.num_bytes() == to.num_bytes(), "a copy of {} to {}", from.num_bytes(),
                 to.num_bytes());
        stream.enqueue("copy", [from, to, &arena = receiver.arena_] {
            const Open open(arena);
            std::memcpy(to.data(), from.data(), from.bytes().size());
        });
    }

protected:
    void* allocate_bytes(Bytes size) override {
        const std::size_t rounded = round(size);
        void* data = arena_.take(rounded);
        if (data != nullptr) fill_with_ones(data, rounded);
        return data;
    }
    void free_bytes(void* data, Bytes size) override {
        fill_with_ones(data, round(size));
        arena_.give_back(data, round(size));
    }
    void* allocate_pinned(Bytes size) override {
        Buffer memory = host_->allocate(size, MemoryKind::data);
        void* data = memory.data();
        pinned_.emplace(data, std::move(memory));
        return data;
    }
    void free_pinned(void* data, Bytes /*size*/) override { pinned_.erase(data); }

private:
    static std::size_t round(Bytes size) {
        return (static_cast<std::size_t>(size.value) / kAlignment + 1) * kAlignment;
    }
    void fill_with_ones(void* data, std::size_t size) {
        const Open open(arena_);
        std::memset(data, 0xff, size);
    }

    const std::unique_ptr<Device> host_ = make_host_device();
    Arena arena_;
    std::map<void*, Buffer> pinned_;
};

}  // namespace

std::unique_ptr<Device> make_closed_device(Bytes memory) {
    return std::make_unique<ClosedDevice>(memory);
}

void copy_between_closed(Device& sender, const TensorView& from, Device& receiver,
                         const TensorView& to, Stream& stream) {
    dynamic_cast<ClosedDevice&>(sender).copy_from(from, dynamic_cast<ClosedDevice&>(receiver), to,
                                                  stream);
}

}  // namespace rm
