#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "controller/store/telemetry_store.h"

namespace rm {

// The output that a telemetry stream still owes its worker: the newest acknowledgement per rank,
// and the end of the stream. Pure; its owner locks.
class AckQueue {
public:
    using Key = std::pair<Epoch, int>;  // epoch, rank
    using Ack = std::pair<Key, StreamOffsets>;

    void sent() { ++in_flight_; }                           // a piece is on its way
    void kept(Key key, const Result<StreamOffsets>& kept);  // it is kept, or could not be
    void close() { closed_ = true; }                        // no more pieces come

    std::optional<Ack> next();  // the next to be written, taken out
    std::size_t in_flight() const { return in_flight_; }
    // Every piece is answered and no more come, or one could not be kept.
    bool is_over() const { return error_ || (closed_ && in_flight_ == 0 && acks_.empty()); }
    const std::optional<Error>& error() const { return error_; }

private:
    std::map<Key, StreamOffsets> acks_;
    std::optional<Error> error_;
    std::size_t in_flight_ = 0;
    bool closed_ = false;
};

}  // namespace rm
