#include <grpcpp/server_context.h>

#include <thread>

#include "controller/rpc/services.h"
#include "controller/rpc/telemetry_stream.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/grpc_stream.h"
#include "service/grpc_util.h"
#include "service/log.h"

namespace rm {
namespace {

using TelemetryCall = grpc::ServerReaderWriter<pb::TelemetryAck, pb::TelemetryMessage>;

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
    } else if (message.piece_case() == pb::TelemetryMessage::kNote) {
        piece.kind = PieceKind::note;
        piece.bytes = message.note();
    } else {
        piece.bytes = message.log();
    }
    return piece;
}

pb::TelemetryAck ack_of(const AckQueue::Key& key, const StreamOffsets& offsets) {
    pb::TelemetryAck ack;
    ack.set_epoch(key.first.value);
    ack.set_rank(key.second);
    ack.set_reports_offset(offsets.reports);
    ack.set_log_offset(offsets.log);
    return ack;
}

// Where a piece belongs; nothing: to no rank this controller knows.
std::optional<JobId> job_of(const ControlLoop& control, const TelemetryPiece& piece) {
    return control.read([&](const State& state) -> std::optional<JobId> {
        const Attempt* attempt = find_attempt(state, piece.epoch);
        const bool known = attempt != nullptr && piece.rank >= 0 &&
                           piece.rank < static_cast<int>(attempt->ranks.size());
        return known ? std::optional(attempt->job) : std::nullopt;
    });
}

// Claims everything up to the piece, so that the worker does not keep it for ever.
StreamOffsets unknown_offsets(const TelemetryPiece& piece) {
    if (piece.kind == PieceKind::log) return {.log = piece.end_offset};
    return {.reports = piece.end_offset};
}

class WorkerService final : public pb::WorkerService::Service {
public:
    WorkerService(const SessionContext& session, OpsContext& ops, TelemetryLoop& telemetry)
        : session_(session), ops_(ops), telemetry_(telemetry) {}

    grpc::Status Session(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>* call) override {
        const std::string peer = context->peer();  // not known any more once it has gone
        const auto stream = session_stream(*context, *call);
        const Status status = run_session(*stream, peer, session_);
        const bool expected = status || status.error().code == ErrorCode::unavailable;
        log_event(
            expected ? LogLevel::info : LogLevel::warning, "session_ended",
            {{"peer", peer}, {"reason", status ? "the worker closed it" : status.error().message}});
        return to_grpc(status);
    }

    grpc::Status Telemetry(grpc::ServerContext* context, TelemetryCall* call) override {
        // Pieces on their way to the disk co-own the queue: they may be kept after this call.
        const auto acks = std::make_shared<AckQueue>();
        std::thread writer([&] {
            while (const auto batch = acks->next()) {
                for (const auto& [key, offsets] : *batch)
                    call->Write(ack_of(key, offsets));
            }
            // A piece could not be kept: the worker is to come back with it later.
            if (acks->error()) context->TryCancel();
        });
        pb::TelemetryMessage message;
        while (call->Read(&message))
            take(message, acks);
        acks->close();
        writer.join();
        const auto error = acks->error();
        if (error) log_event(LogLevel::warning, "telemetry_not_kept", {{"reason", error->message}});
        return error ? to_grpc(*error) : grpc::Status::OK;
    }

private:
    void take(const pb::TelemetryMessage& message, const std::shared_ptr<AckQueue>& acks) {
        TelemetryPiece piece = piece_of(message, ops_.clock.wall());
        const AckQueue::Key key{piece.epoch, piece.rank};
        acks->sent();
        const std::optional<JobId> job = job_of(ops_.control, piece);
        if (!job) return acks->kept(key, unknown_offsets(piece));
        piece.job = *job;
        telemetry_.push(std::move(piece), [acks, key](const Result<StreamOffsets>& offsets) {
            acks->kept(key, offsets);
        });
    }

    const SessionContext& session_;
    OpsContext& ops_;
    TelemetryLoop& telemetry_;
};

class RendezvousService final : public pb::RendezvousService::Service {
public:
    RendezvousService(ExchangeTable& table, ControlLoop& control)
        : table_(table), control_(control) {}

    grpc::Status Exchange(grpc::ServerContext* context, const pb::ExchangeRequest* request,
                          pb::ExchangeReply* reply) override {
        ExchangeTable::Request wanted{
            {request->epoch()}, request->group(), {request->node_id()}, {}};
        for (const auto& [rank, blob] : request->blobs())
            wanted.blobs.emplace(rank, blob);
        const auto table = table_.exchange(wanted, [&] { return context->IsCancelled(); });
        if (!table) return to_grpc(table.error());
        for (const std::string& blob : *table)
            reply->add_blobs(blob);
        return grpc::Status::OK;
    }

    grpc::Status Publish(grpc::ServerContext* /*context*/, const pb::PublishRequest* request,
                         pb::PublishReply* /*reply*/) override {
        const auto answer = control_.call(AskToPublish{{request->epoch()}});
        return answer ? grpc::Status::OK : to_grpc(answer.error());
    }

private:
    ExchangeTable& table_;
    ControlLoop& control_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_worker_service(const SessionContext& session,
                                                   OpsContext& context, TelemetryLoop& telemetry) {
    return std::make_unique<WorkerService>(session, context, telemetry);
}
std::unique_ptr<grpc::Service> make_rendezvous_service(ExchangeTable& table, ControlLoop& control) {
    return std::make_unique<RendezvousService>(table, control);
}

}  // namespace rm
