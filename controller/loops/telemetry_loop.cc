#include "controller/loops/telemetry_loop.h"

#include "service/log.h"

namespace rm {
namespace {

constexpr std::size_t kMaxQueuedBytes = 16u << 20;
constexpr std::size_t kPieceOverhead = 200;
constexpr Seconds kTidyEvery{60};
constexpr Seconds kTidyOn{0.05};  // while there is more: reports come first

}  // namespace

TelemetryLoop::TelemetryLoop(TelemetryStore& store, UpdateSignal& updates, SpaceGuard& space,
                             const Clock& clock, CurveFiles* files)
    : store_(store),
      updates_(updates),
      space_(space),
      clock_(clock),
      files_(files),
      loop_([this](auto&) { return work(); }, {}, [this] { keep_queued(); }) {}

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

Seconds TelemetryLoop::work() {
    keep_queued();
    const Seconds left{until_tidy_.value - (clock_.mono() - tidied_).value};
    return left.value > 0 ? left : tidy();
}

void TelemetryLoop::keep_queued() {
    for (auto batch = take(); !batch.empty(); batch = take())
        keep(batch);
}

Seconds TelemetryLoop::tidy() {
    const Result<bool> more = store_.tidy(clock_.wall());
    if (!more)
        log_event(LogLevel::warning, "telemetry_not_tidied", {{"reason", more.error().message}});
    tidied_ = clock_.mono();
    until_tidy_ = more && *more ? kTidyOn : kTidyEvery;
    if (files_ != nullptr && until_tidy_ == kTidyEvery) files_->remove_old(clock_.wall());
    return until_tidy_;
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
    std::set<JobId> trained;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        // One sender's bad piece must not fail the others.
        const Status kept = together ? together : store_.write(std::span(&pieces[i], 1));
        if (kept && pieces[i].rank == 0 && pieces[i].kind <= PieceKind::evaluation)
            trained.insert(pieces[i].job);
        if (kept) {
            batch[i].on_kept(store_.offsets(pieces[i].epoch, pieces[i].rank));
        } else {
            batch[i].on_kept(kept.error());
        }
    }
    updates_.notify();
    write_files(trained);
    if (const Status packed = store_.pack(); !packed)
        log_event(LogLevel::warning, "curves_not_packed", {{"reason", packed.error().message}});
}

void TelemetryLoop::write_files(const std::set<JobId>& jobs) {
    if (files_ == nullptr) return;
    for (const JobId& job : jobs) {
        if (const Status written = files_->catch_up(job); !written) {
            log_event(LogLevel::warning, "curves_not_written",
                      {{"job", job}, {"reason", written.error().message}});
        }
    }
}

}  // namespace rm
