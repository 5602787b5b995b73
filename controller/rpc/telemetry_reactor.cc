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

// The most pieces of one stream on their way to the disk; 1 while the loop is full.
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
    } else if (message.has_suite()) {
        piece.kind = PieceKind::suite;
        piece.name = message.suite().name();
        piece.bytes = message.suite().SerializeAsString();
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

// Checks that the offset can be the end of the piece in its stream.
Status check_offset(const TelemetryPiece& piece) {
    const bool is_log = piece.kind == PieceKind::log;
    const auto least = is_log ? static_cast<std::int64_t>(piece.bytes.size()) : std::int64_t{1};
    if (piece.end_offset >= least) return {};
    return invalid_argument("a piece of rank {} of attempt {} ends at offset {}, which is below {}",
                            piece.rank, piece.epoch, piece.end_offset, least);
}

// The job of a piece; nothing if the controller does not know its rank or the rank is not on one of
// the caller's nodes.
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

// Sends a telemetry stream's worker the newest acknowledgement per rank and the end of the stream.
// Outlives the call: the telemetry loop may keep pieces after the call ends.
class Acks : public std::enable_shared_from_this<Acks> {
public:
    Acks(TelemetryCall& call, pb::TelemetryMessage& incoming, TelemetryLoop& telemetry)
        : call_(&call), incoming_(incoming), telemetry_(telemetry) {}

    // The result must be called once the piece is kept, or could not be.
    TelemetryLoop::OnKept take(const TelemetryPiece& piece) {
        const std::lock_guard lock(mutex_);
        ++in_flight_;
        return [self = shared_from_this(), key = Key{piece.epoch, piece.rank}](
                   const Result<StreamOffsets>& offsets) { self->kept(key, offsets); };
    }
    void read_on() {
        const std::lock_guard lock(mutex_);
        reading_ = false;
        advance();
    }
    void closed() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
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
    using Key = std::pair<Epoch, int>;  // epoch, rank

    void kept(const Key& key, const Result<StreamOffsets>& offsets) {
        const std::lock_guard lock(mutex_);
        --in_flight_;
        if (offsets) {
            acks_[key] = *offsets;
        } else if (!error_) {
            error_ = offsets.error();
        }
        advance();
    }

    // True once the stream is closed and every piece acknowledged, or a piece could not be kept.
    bool is_over() const { return error_ || (closed_ && in_flight_ == 0 && acks_.empty()); }
    // Starts what can be started: a write, a read, the end.
    void advance() {
        if (call_ == nullptr || finished_) return;
        if (!writing_) write_next();
        if (is_over() && !writing_) return finish();
        const std::size_t room = telemetry_.has_room() ? kMaxInFlight : 1;
        if (reading_ || error_ || in_flight_ >= room) return;
        reading_ = true;
        call_->StartRead(&incoming_);
    }
    void write_next() {
        // A broken stream drops them, because the end waits for them.
        if (broken_) acks_.clear();
        if (error_ || acks_.empty()) return;
        const auto ack = acks_.extract(acks_.begin());
        outgoing_.set_epoch(ack.key().first.value);
        outgoing_.set_rank(ack.key().second);
        outgoing_.set_reports_offset(ack.mapped().reports);
        outgoing_.set_log_offset(ack.mapped().log);
        writing_ = true;
        call_->StartWrite(&outgoing_);
    }
    void finish() {
        finished_ = true;
        if (error_) {
            log_event(LogLevel::warning, "telemetry_not_kept", {{"reason", error_->message}});
        }
        call_->Finish(error_ ? to_grpc(*error_) : grpc::Status::OK);
    }

    std::mutex mutex_;
    TelemetryCall* call_;
    pb::TelemetryMessage& incoming_;  // of the call
    TelemetryLoop& telemetry_;
    pb::TelemetryAck outgoing_;
    std::map<Key, StreamOffsets> acks_;
    std::optional<Error> error_;
    std::size_t in_flight_ = 0;  // pieces on their way to the disk
    bool closed_ = false;        // the worker sends no more
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
