#include "controller/rpc/telemetry_reactor.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "controller/rpc/caller.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"

namespace rm {
namespace {

// Pieces of one stream on their way to the disk; while the loop is full, one.
constexpr std::size_t kMaxInFlight = 64;

TelemetryPiece piece_of(const pb::TelemetryMessage& message, WallTime now) {
    TelemetryPiece piece{.epoch = {message.epoch()},
                         .rank = message.rank(),
                         .end_offset = message.end_offset(),
                         .received = now};
    if (message.has_step()) {
        piece.kind = PieceKind::step;
        piece.step = message.step().step();
        piece.loss = message.step().loss();
        piece.bytes = message.step().SerializeAsString();
    } else if (message.has_evaluation()) {
        piece.kind = PieceKind::evaluation;
        piece.step = message.evaluation().step();
        piece.loss = message.evaluation().loss();
        piece.bytes = message.evaluation().SerializeAsString();
    } else if (message.has_connected()) {
        piece.kind = PieceKind::connected;
        piece.bytes = message.connected().SerializeAsString();
    } else if (message.piece_case() == pb::TelemetryMessage::kNote) {
        piece.kind = message.alarm() ? PieceKind::alarm : PieceKind::note;
        piece.bytes = message.note();
    } else {
        piece.bytes = message.log();
    }
    return piece;
}

HopReport hops_of(const pb::TelemetryMessage& message) {
    HopReport report{.epoch = {message.epoch()},
                     .rank = message.rank(),
                     .stage = message.step().stage(),
                     .step = message.step().step(),
                     .hops = {}};
    for (const auto& [from, hop] : message.step().hops())
        report.hops[from] = {.bytes = hop.bytes(), .bytes_per_second = hop.bytes_per_second()};
    return report;
}

// The output that a telemetry stream still owes its worker: the newest acknowledgement per rank,
// and the end of the stream. Pure; its owner locks.
class AckQueue {
public:
    using Key = std::pair<Epoch, int>;  // epoch, rank
    using Ack = std::pair<Key, StreamOffsets>;

    void sent() { ++in_flight_; }  // a piece is on its way
    // It is kept, or could not be.
    void kept(Key key, const Result<StreamOffsets>& kept) {
        --in_flight_;
        if (kept) {
            acks_[key] = *kept;
        } else if (!error_) {
            error_ = kept.error();
        }
    }
    void close() { closed_ = true; }  // no more pieces come

    // The next to be written, taken out.
    std::optional<Ack> next() {
        if (error_ || acks_.empty()) return std::nullopt;
        const Ack ack = *acks_.begin();
        acks_.erase(acks_.begin());
        return ack;
    }
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

pb::TelemetryAck message_of(const AckQueue::Ack& ack) {
    const auto& [key, offsets] = ack;
    pb::TelemetryAck message;
    message.set_epoch(key.first.value);
    message.set_rank(key.second);
    message.set_reports_offset(offsets.reports);
    message.set_log_offset(offsets.log);
    return message;
}

// An offset is where a piece ends in its stream.
Status check_offset(const TelemetryPiece& piece) {
    const bool is_log = piece.kind == PieceKind::log;
    const auto least = is_log ? static_cast<std::int64_t>(piece.bytes.size()) : std::int64_t{1};
    if (piece.end_offset >= least) return {};
    return invalid_argument("a piece of rank {} of attempt {} ends at offset {}, which is below {}",
                            piece.rank, piece.epoch, piece.end_offset, least);
}

// Where a piece belongs; nothing: to no rank this controller knows, or not to one of the caller's
// nodes.
std::optional<JobId> job_of(const ControlLoop& control, const TelemetryPiece& piece,
                            const Principal& caller) {
    return control.read([&](const State& state) -> std::optional<JobId> {
        const Attempt* attempt = find_attempt(state, piece.epoch);
        const bool known = attempt != nullptr && piece.rank >= 0 &&
                           piece.rank < static_cast<int>(attempt->ranks.size());
        if (!known) return std::nullopt;
        const NodeId& node = attempt->ranks[usize(piece.rank)].device.node;
        return check_speaks_for(caller, node) ? std::optional(attempt->job) : std::nullopt;
    });
}

// Outlives the call: the telemetry loop may keep pieces after the call ends.
class Acks : public std::enable_shared_from_this<Acks> {
public:
    Acks(TelemetryCall& call, pb::TelemetryMessage& incoming, TelemetryLoop& telemetry)
        : call_(&call), incoming_(incoming), telemetry_(telemetry) {}

    TelemetryLoop::OnKept take(const TelemetryPiece& piece) {
        const std::lock_guard lock(mutex_);
        queue_.sent();
        return [self = shared_from_this(), key = AckQueue::Key{piece.epoch, piece.rank}](
                   const Result<StreamOffsets>& offsets) { self->kept(key, offsets); };
    }
    void read_on() {
        const std::lock_guard lock(mutex_);
        reading_ = false;
        advance();
    }
    void closed() {
        const std::lock_guard lock(mutex_);
        queue_.close();
        advance();
    }
    void written(bool ok) {
        const std::lock_guard lock(mutex_);
        writing_ = false;
        broken_ = broken_ || !ok;
        advance();
    }
    void detach() {
        const std::lock_guard lock(mutex_);
        call_ = nullptr;
    }

private:
    void kept(AckQueue::Key key, const Result<StreamOffsets>& offsets) {
        const std::lock_guard lock(mutex_);
        queue_.kept(key, offsets);
        advance();
    }

    // Starts what can be started: a write, a read, the end.
    void advance() {
        if (call_ == nullptr || finished_) return;
        if (!writing_) write_next();
        if (queue_.is_over() && !writing_) return finish();
        const std::size_t room = telemetry_.has_room() ? kMaxInFlight : 1;
        if (reading_ || queue_.error() || queue_.in_flight() >= room) return;
        reading_ = true;
        call_->StartRead(&incoming_);
    }
    void write_next() {
        auto ack = queue_.next();
        // On a broken stream they are taken out all the same: the end waits for them.
        while (broken_ && ack)
            ack = queue_.next();
        if (!ack) return;
        outgoing_ = message_of(*ack);
        writing_ = true;
        call_->StartWrite(&outgoing_);
    }
    void finish() {
        finished_ = true;
        const auto& error = queue_.error();
        if (error) log_event(LogLevel::warning, "telemetry_not_kept", {{"reason", error->message}});
        call_->Finish(error ? to_grpc(*error) : grpc::Status::OK);
    }

    std::mutex mutex_;
    TelemetryCall* call_;
    pb::TelemetryMessage& incoming_;  // of the call
    TelemetryLoop& telemetry_;
    pb::TelemetryAck outgoing_;
    AckQueue queue_;
    bool reading_ = false;
    bool writing_ = false;
    bool broken_ = false;
    bool finished_ = false;
};

class TelemetryReactor final : public TelemetryCall {
public:
    TelemetryReactor(OpsContext& ops, TelemetryLoop& telemetry, SurveyLoop& surveys,
                     Principal caller)
        : ops_(ops),
          caller_(std::move(caller)),
          telemetry_(telemetry),
          surveys_(surveys),
          acks_(std::make_shared<Acks>(*this, incoming_, telemetry)) {
        acks_->read_on();
    }

private:
    void OnReadDone(bool ok) override {
        if (!ok) return acks_->closed();
        take();
        acks_->read_on();
    }
    void OnWriteDone(bool ok) override { acks_->written(ok); }
    void OnDone() override {
        acks_->detach();
        delete this;
    }

    void take() {
        TelemetryPiece piece = piece_of(incoming_, ops_.clock.wall());
        TelemetryLoop::OnKept on_kept = acks_->take(piece);
        const std::optional<JobId> job = job_of(ops_.control, piece, caller_);
        if (!job) return on_kept(claimed_offsets(piece));
        if (const Status sound = check_offset(piece); !sound) return on_kept(sound.error());
        piece.job = *job;
        if (!incoming_.step().hops().empty()) surveys_.hopped(hops_of(incoming_));
        telemetry_.push(std::move(piece), std::move(on_kept));
    }

    OpsContext& ops_;
    const Principal caller_;
    TelemetryLoop& telemetry_;
    SurveyLoop& surveys_;
    pb::TelemetryMessage incoming_;
    const std::shared_ptr<Acks> acks_;  // second owners: pieces on their way to the disk
};

class RefusedCall final : public TelemetryCall {
public:
    explicit RefusedCall(const grpc::Status& status) { Finish(status); }

private:
    void OnDone() override { delete this; }
};

}  // namespace

TelemetryCall* serve_telemetry(const grpc::CallbackServerContext& call, OpsContext& context,
                               TelemetryLoop& telemetry, SurveyLoop& surveys,
                               const Gatekeeper& gatekeeper) {
    auto caller = caller_of(call, gatekeeper);
    if (!caller) return new RefusedCall(to_grpc(caller.error()));
    return new TelemetryReactor(context, telemetry, surveys, *std::move(caller));
}

}  // namespace rm
