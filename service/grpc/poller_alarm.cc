#include "service/grpc/poller_alarm.h"

#include <grpcpp/client_context.h>

#include <chrono>

namespace rm {
namespace {

constexpr std::chrono::milliseconds kEvery{200};
constexpr const char* kMethod = "/grpc.health.v1.Health/Check";

}  // namespace

// An empty message asks for the server as a whole.
PollerAlarm::PollerAlarm(grpc::Server& server)
    : stub_(server.InProcessChannel({})), request_(nullptr, 0) {
    const std::lock_guard lock(mutex_);
    wait();
}

PollerAlarm::~PollerAlarm() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    grpc::Alarm& pending = alarms_[next_];
    lock.unlock();
    pending.Cancel();
    lock.lock();
    changed_.wait(lock, [this] { return !busy_; });
}

bool PollerAlarm::ended() {
    if (!stopping_) return false;
    busy_ = false;
    changed_.notify_all();
    return true;
}

void PollerAlarm::wait() {
    next_ = 1 - next_;
    alarms_[next_].Set(std::chrono::system_clock::now() + kEvery, [this](bool) {
        std::unique_lock lock(mutex_);
        if (ended()) return;
        lock.unlock();  // the answer may come at once, on this thread
        call();
    });
}

void PollerAlarm::call() {
    context_ = std::make_unique<grpc::ClientContext>();
    stub_.UnaryCall(context_.get(), kMethod, {}, &request_, &reply_, [this](grpc::Status) {
        const std::lock_guard lock(mutex_);
        if (!ended()) wait();
    });
}

}  // namespace rm
