#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "kernels/device.h"

namespace rm::test {

// Forwards to a host device: devices of tests override what they watch or change. Pinned memory is
// ordinary memory.
class ForwardingDevice : public Device {
public:
    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return host_->make_stream(name);
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
    bool host_visible() const override { return host_->host_visible(); }
    void write(const void* host, const TensorView& to) override { host_->write(host, to); }
    void read(const TensorView& from, void* host) override { host_->read(from, host); }
    void zero(const TensorView& tensor) override { host_->zero(tensor); }

protected:
    void* allocate_bytes(Bytes size) override {
        Buffer memory = host_->allocate(size, MemoryKind::data);
        void* data = memory.data();
        owned_.emplace(data, std::move(memory));
        return data;
    }
    void free_bytes(void* data, Bytes /*size*/) override { owned_.erase(data); }
    void* allocate_pinned(Bytes size) override { return allocate_bytes(size); }
    void free_pinned(void* data, Bytes size) override { free_bytes(data, size); }

private:
    std::unique_ptr<Device> host_ = make_host_device();
    std::map<void*, Buffer> owned_;
};

}  // namespace rm::test
