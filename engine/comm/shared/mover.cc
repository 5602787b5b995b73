#include "engine/comm/shared/mover.h"

#include "engine/comm/transport/blocked_signals.h"

namespace rm {

Mover::Mover(SharedMemoryLinks& links) : links_(links) {
    const BlockedSignals blocked = BlockedSignals::all();  // for the thread
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Mover::~Mover() {
    thread_.request_stop();
    links_.wake();
}

// A rank without work for the thread does not wake it.
void Mover::set(bool moves) {
    if (moves && !links_.has_work()) return;
    {
        const std::lock_guard lock(mutex_);
        if (moves_ == moves) return;
        moves_ = moves;
    }
    changed_.notify_all();
}

void Mover::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return moves_; })) return;
        }
        links_.move_or_sleep();
    }
}

}  // namespace rm
