#include "tests/support/watched_device.h"

#include <cstdlib>
#include <string>
#include <utility>

namespace rm::test {
namespace {

thread_local OpWatcher watcher_of_thread;

class WatchedStream final : public Stream {
public:
    WatchedStream(std::string_view name, std::unique_ptr<Stream> inner, OpWatcher watcher)
        : name_(name), watcher_(std::move(watcher)), inner_(std::move(inner)) {}

    void enqueue(std::string_view op, std::function<void()> work) override {
        inner_->enqueue(op, [this, op = std::string(op), work = std::move(work)] {
            watcher_(name_, op);
            work();
        });
    }
    void call_host(std::string_view op, std::function<void()> work) override {
        inner_->call_host(op, std::move(work));
    }
    std::int64_t num_queued() const override { return inner_->num_queued(); }
    void record(Event& event) override { inner_->record(event); }
    void wait(const Event& event) override { inner_->wait(event); }
    void synchronize() override { inner_->synchronize(); }

private:
    std::string name_;
    OpWatcher watcher_;
    std::unique_ptr<Stream> inner_;  // last: it ends before what its work uses
};

class WatchedDevice final : public Device {
public:
    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return std::make_unique<WatchedStream>(name, host_->make_stream(name), watcher_);
    }
    std::unique_ptr<Stream> make_host_stream(std::string_view name) override {
        return std::make_unique<WatchedStream>(name, host_->make_host_stream(name), watcher_);
    }
    std::unique_ptr<Event> make_event() override { return host_->make_event(); }
    void upload(const void* host, const TensorView& to, Stream& stream) override {
        host_->upload(host, to, stream);
    }
    void download(const TensorView& from, void* host, Stream& stream) override {
        host_->download(from, host, stream);
    }
    bool host_visible() const override { return true; }
    void write(const void* host, const TensorView& to) override { host_->write(host, to); }
    void read(const TensorView& from, void* host) override { host_->read(from, host); }
    void zero(const TensorView& tensor) override { host_->zero(tensor); }

protected:
    void* allocate_bytes(Bytes size) override {
        return std::aligned_alloc(64, (static_cast<std::size_t>(size.value) / 64 + 1) * 64);
    }
    void free_bytes(void* data, Bytes /*size*/) override { std::free(data); }
    void* allocate_pinned(Bytes size) override { return allocate_bytes(size); }
    void free_pinned(void* data, Bytes size) override { free_bytes(data, size); }

private:
    OpWatcher watcher_ = watcher_of_thread;
    std::unique_ptr<Device> host_ = make_host_device();  // its streams and copies
};

}  // namespace

void set_op_watcher(OpWatcher watcher) {
    watcher_of_thread = std::move(watcher);
}

std::unique_ptr<Device> make_watched_device() {
    return std::make_unique<WatchedDevice>();
}

}  // namespace rm::test
