#include <cstdlib>
#include <cstring>

#include "kernels/queue_stream.h"

namespace rm {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPage = 4096;

#ifdef RM_POISON
constexpr bool kPoison = true;
#else
constexpr bool kPoison = false;
#endif

// All bits set is a NaN in every floating type we use, and an impossible token.
void poison(void* data, Bytes size) {
    if (kPoison) std::memset(data, 0xff, usize(size.value));
}

void* allocate_aligned(std::size_t alignment, Bytes size) {
    const auto wanted = usize(size.value);
    return std::aligned_alloc(alignment, (wanted / alignment + 1) * alignment);  // never zero
}

class HostDevice final : public Device {
public:
    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return std::make_unique<QueueStream>(name);
    }
    std::unique_ptr<Stream> make_host_stream(std::string_view name) override {
        return std::make_unique<QueueStream>(name);
    }
    std::unique_ptr<Event> make_event() override { return make_host_event(); }
    void upload(const void* host, const TensorView& to, Stream& stream) override {
        stream.enqueue("upload", [host, to] { std::memcpy(to.data(), host, to.bytes().size()); });
    }
    void download(const TensorView& from, void* host, Stream& stream) override {
        stream.enqueue("download",
                       [from, host] { std::memcpy(host, from.data(), from.bytes().size()); });
    }

    bool host_visible() const override { return true; }
    void write(const void* host, const TensorView& to) override {
        std::memcpy(to.data(), host, to.bytes().size());
    }
    void read(const TensorView& from, void* host) override {
        std::memcpy(host, from.data(), from.bytes().size());
    }
    void zero(const TensorView& tensor) override {
        std::memset(tensor.data(), 0, tensor.bytes().size());
    }

protected:
    void* allocate_bytes(Bytes size) override {
        void* data = allocate_aligned(kAlignment, size);
        if (data != nullptr) poison(data, size);
        return data;
    }
    void free_bytes(void* data, Bytes size) override {
        poison(data, size);
        std::free(data);
    }
    void* allocate_pinned(Bytes size) override { return allocate_aligned(kPage, size); }
    void free_pinned(void* data, Bytes /*size*/) override { std::free(data); }
};

}  // namespace

std::unique_ptr<Device> make_host_device() {
    return std::make_unique<HostDevice>();
}

}  // namespace rm
