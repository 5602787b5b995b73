#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "controller/store/telemetry_store.h"

namespace rm {

// The acknowledgements that wait to be written on one telemetry stream: only the newest per rank.
class AckQueue {
public:
    using Key = std::pair<Epoch, int>;  // epoch, rank

    void sent();                                            // a piece is on its way
    void kept(Key key, const Result<StreamOffsets>& kept);  // it is kept, or could not be
    void close();                                           // no more pieces come

    // Waits for acknowledgements; nothing: every piece is answered and no more come, or one failed.
    std::optional<std::map<Key, StreamOffsets>> next();
    std::optional<Error> error() const;

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, StreamOffsets> acks_;
    std::optional<Error> error_;
    int in_flight_ = 0;
    bool closed_ = false;
};

}  // namespace rm
