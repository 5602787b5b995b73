#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/os/loop.h"
#include "controller/loops/curve_files.h"
#include "controller/loops/update_signal.h"
#include "controller/store/space_guard.h"
#include "controller/store/telemetry_store.h"

namespace rm {

// The one thread that writes telemetry. It keeps pieces in batches; once a batch is on disk, each
// sender learns how far its rank's streams are kept. A piece that cannot be kept, for lack of space
// or any other reason, is an error to its sender, which still has it and sends it again later:
// telemetry never holds up anything else, and nothing is acknowledged that is not on disk. Once a
// minute it makes old steps smaller.
class TelemetryLoop {
public:
    using OnKept = std::function<void(Result<StreamOffsets>)>;  // on the telemetry thread: be quick

    // Destruction first keeps the queued pieces. Without `files` no curves are written as files.
    TelemetryLoop(TelemetryStore& store, UpdateSignal& updates, SpaceGuard& space,
                  const Clock& clock, CurveFiles* files);

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
    Seconds work();
    void keep_queued();
    Seconds tidy();
    void keep(std::vector<Queued>& batch);
    void write_files(const std::set<JobId>& jobs);
    void refuse(std::vector<Queued>& batch);

    TelemetryStore& store_;
    UpdateSignal& updates_;
    SpaceGuard& space_;
    const Clock& clock_;
    CurveFiles* const files_;
    MonoTime tidied_;
    Seconds until_tidy_;  // from then on
    mutable std::mutex mutex_;
    std::vector<Queued> queue_;
    std::size_t queued_bytes_ = 0;
    Loop loop_;
};

}  // namespace rm
