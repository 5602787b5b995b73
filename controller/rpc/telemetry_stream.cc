#include "controller/rpc/telemetry_stream.h"

namespace rm {

void AckQueue::kept(Key key, const Result<StreamOffsets>& kept) {
    --in_flight_;
    if (kept) {
        acks_[key] = *kept;
    } else if (!error_) {
        error_ = kept.error();
    }
}

std::optional<AckQueue::Ack> AckQueue::next() {
    if (error_ || acks_.empty()) return std::nullopt;
    const Ack ack = *acks_.begin();
    acks_.erase(acks_.begin());
    return ack;
}

}  // namespace rm
