#include "controller/loops/telemetry_loop.h"

namespace rm {
namespace {

constexpr std::size_t kMaxQueuedBytes = 16u << 20;
constexpr std::size_t kPieceOverhead = 200;

}  // namespace

TelemetryLoop::TelemetryLoop(TelemetryStore& store, UpdateSignal& updates, SpaceGuard& space)
    : store_(store),
      updates_(updates),
      space_(space),
      loop_([this](auto&) { return keep_queued(); }, Loop::kUntilWoken, [this] { keep_queued(); }) {
}

void TelemetryLoop::push(TelemetryPiece piece, OnKept on_kept) {
    const std::lock_guard lock(mutex_);
    queued_bytes_ += piece.bytes.size() + kPieceOverhead;
    queue_.push_back({std::move(piece), std::move(on_kept)});
    loop_.wake();
}

bool TelemetryLoop::has_room() const {
    const std::lock_guard lock(mutex_);
    return queued_bytes_ < kMaxQueuedBytes;
}

std::vector<TelemetryLoop::Queued> TelemetryLoop::take() {
    const std::lock_guard lock(mutex_);
    queued_bytes_ = 0;
    return std::exchange(queue_, {});
}

Seconds TelemetryLoop::keep_queued() {
    for (auto batch = take(); !batch.empty(); batch = take())
        keep(batch);
    return Loop::kUntilWoken;
}

void TelemetryLoop::refuse(std::vector<Queued>& batch) {
    space_.count_refused(static_cast<std::int64_t>(batch.size()));
    for (const Queued& queued : batch) {
        queued.on_kept(make_error(ErrorCode::resource_exhausted,
                                  "the controller is short of space ({} free); reports wait on "
                                  "their workers",
                                  space_.free_bytes()));
    }
}

void TelemetryLoop::keep(std::vector<Queued>& batch) {
    if (space_.refuses_telemetry()) return refuse(batch);
    std::vector<TelemetryPiece> pieces;
    for (Queued& queued : batch)
        pieces.push_back(std::move(queued.piece));
    const Status together = store_.write(pieces);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        // One sender's bad piece must not fail the others.
        const Status kept = together ? together : store_.write(std::span(&pieces[i], 1));
        if (kept) {
            batch[i].on_kept(store_.offsets(pieces[i].epoch, pieces[i].rank));
        } else {
            batch[i].on_kept(kept.error());
        }
    }
    updates_.notify();
}

}  // namespace rm
