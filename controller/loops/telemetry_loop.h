#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "base/loop.h"
#include "controller/loops/update_signal.h"
#include "controller/store/space_guard.h"
#include "controller/store/telemetry_store.h"

namespace rm {

// The one thread that writes telemetry. Pieces are kept in batches; each sender hears, after the
// batch is on disk, how far its rank's streams are kept. What cannot be kept, for want of space or
// for any other reason, is an error to its sender, who has it still and sends it again later:
// telemetry never holds up anything else, and nothing is acknowledged that is not on disk.
class TelemetryLoop {
public:
    using OnKept = std::function<void(Result<StreamOffsets>)>;  // on the telemetry thread: be quick

    // What is queued at the end is kept.
    TelemetryLoop(TelemetryStore& store, UpdateSignal& updates, SpaceGuard& space);

    // Does not wait. A sender that finds no room holds back its stream until its last piece is
    // kept.
    void push(TelemetryPiece piece, OnKept on_kept);
    bool has_room() const;

private:
    struct Queued {
        TelemetryPiece piece;
        OnKept on_kept;
    };
    std::vector<Queued> take();
    void keep_queued();
    void keep(std::vector<Queued>& batch);
    void refuse(std::vector<Queued>& batch);
    Status keep_alone(const TelemetryPiece& piece);

    TelemetryStore& store_;
    UpdateSignal& updates_;
    SpaceGuard& space_;
    mutable std::mutex mutex_;
    std::vector<Queued> queue_;
    std::size_t queued_bytes_ = 0;
    Loop loop_;
};

}  // namespace rm
