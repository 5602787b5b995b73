#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace grpc {
class Channel;
}

namespace rm {

// The channel to the controller, which a renewed certificate replaces: calls and streams that begin
// later use the new one. Thread safe.
class ControllerChannel {
public:
    explicit ControllerChannel(std::shared_ptr<grpc::Channel> channel)
        : channel_(std::move(channel)) {}

    // Shared with the calls on it, which may outlive its time here.
    std::shared_ptr<grpc::Channel> get() const {
        const std::lock_guard lock(mutex_);
        return channel_;
    }
    void replace(std::shared_ptr<grpc::Channel> channel) {
        const std::lock_guard lock(mutex_);
        channel_ = std::move(channel);
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace rm
