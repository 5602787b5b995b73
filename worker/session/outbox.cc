#include "worker/session/outbox.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

bool replaces(const WorkerMessage& newer, const WorkerMessage& older) {
    if (newer.index() != older.index()) return false;
    if (const auto* status = std::get_if<AttemptStatus>(&newer)) {
        return status->epoch == std::get<AttemptStatus>(older).epoch;
    }
    return std::holds_alternative<Pong>(newer) || std::holds_alternative<RootsReport>(newer) ||
           std::holds_alternative<DevicesReport>(newer);
}

}  // namespace

void WorkerOutbox::push(WorkerMessage message) {
    const std::lock_guard lock(mutex_);
    const auto older = std::find_if(messages_.begin(), messages_.end(), [&](const auto& waiting) {
        return replaces(message, waiting);
    });
    if (older != messages_.end()) {
        *older = std::move(message);
    } else {
        messages_.push_back(std::move(message));
    }
    changed_.notify_one();
}

std::optional<WorkerMessage> WorkerOutbox::pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !messages_.empty(); });
    if (closed_) return std::nullopt;
    WorkerMessage message = std::move(messages_.front());
    messages_.pop_front();
    return message;
}

void WorkerOutbox::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

}  // namespace rm
