#include "controller/rpc/telemetry_stream.h"

namespace rm {

void AckQueue::sent() {
    const std::lock_guard lock(mutex_);
    ++in_flight_;
}

void AckQueue::kept(Key key, const Result<StreamOffsets>& kept) {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    if (kept) {
        acks_[key] = *kept;
    } else if (!error_) {
        error_ = kept.error();
    }
    changed_.notify_one();
}

void AckQueue::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
}

std::optional<std::map<AckQueue::Key, StreamOffsets>> AckQueue::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_ || !acks_.empty() || (closed_ && in_flight_ == 0); });
    if (error_ || acks_.empty()) return std::nullopt;
    return std::exchange(acks_, {});
}

std::optional<Error> AckQueue::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

}  // namespace rm
