#include "controller/loops/telemetry_loop.h"

namespace rm {
namespace {

constexpr std::size_t kMaxQueuedBytes = 16u << 20;
constexpr std::size_t kPieceOverhead = 200;

}  // namespace

TelemetryLoop::TelemetryLoop(TelemetryStore& store, UpdateSignal& updates, SpaceGuard& space)
    : store_(store), updates_(updates), space_(space), thread_([this] { run(); }) {}

TelemetryLoop::~TelemetryLoop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void TelemetryLoop::push(TelemetryPiece piece, OnKept on_kept) {
    const std::lock_guard lock(mutex_);
    queued_bytes_ += piece.bytes.size() + kPieceOverhead;
    queue_.push_back({std::move(piece), std::move(on_kept)});
    changed_.notify_all();
}

bool TelemetryLoop::has_room() const {
    const std::lock_guard lock(mutex_);
    return queued_bytes_ < kMaxQueuedBytes;
}

void TelemetryLoop::run() {
    while (true) {
        std::vector<Queued> batch;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !queue_.empty() || stopping_; });
            if (queue_.empty()) return;
            batch = std::exchange(queue_, {});
            queued_bytes_ = 0;
        }
        keep(batch);
    }
}

void TelemetryLoop::drop(std::vector<Queued>& batch) {
    space_.count_dropped(static_cast<std::int64_t>(batch.size()));
    for (const Queued& queued : batch)
        queued.on_kept(claimed_offsets(queued.piece));
}

void TelemetryLoop::keep(std::vector<Queued>& batch) {
    if (space_.drops_telemetry()) return drop(batch);
    std::vector<TelemetryPiece> pieces;
    for (Queued& queued : batch)
        pieces.push_back(std::move(queued.piece));
    const Status status = store_.write(pieces);
    if (status) updates_.notify();
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (status) {
            batch[i].on_kept(store_.offsets(pieces[i].epoch, pieces[i].rank));
        } else {
            batch[i].on_kept(status.error());
        }
    }
}

}  // namespace rm
