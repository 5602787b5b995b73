#include "tests/support/watched_device.h"

#include <string>
#include <utility>

#include "tests/support/forwarding_device.h"

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

class WatchedDevice final : public ForwardingDevice {
public:
    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return watched(name, ForwardingDevice::make_stream(name));
    }
    std::unique_ptr<Stream> make_host_stream(std::string_view name) override {
        return watched(name, ForwardingDevice::make_host_stream(name));
    }

private:
    std::unique_ptr<Stream> watched(std::string_view name, std::unique_ptr<Stream> stream) const {
        return std::make_unique<WatchedStream>(name, std::move(stream), watcher_);
    }

    OpWatcher watcher_ = watcher_of_thread;
};

}  // namespace

void set_op_watcher(OpWatcher watcher) {
    watcher_of_thread = std::move(watcher);
}

std::unique_ptr<Device> make_watched_device() {
    return std::make_unique<WatchedDevice>();
}

}  // namespace rm::test
