#include <grpcpp/server_context.h>

#include <thread>

#include "controller/rpc/caller.h"
#include "controller/rpc/checked_stream.h"
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

// Where a piece belongs; nothing: to no rank this controller knows, or not to one of the caller's
// nodes.
std::optional<JobId> job_of(const ControlLoop& control, const TelemetryPiece& piece,
                            const Principal& caller) {
    return control.read([&](const State& state) -> std::optional<JobId> {
        const Attempt* attempt = find_attempt(state, piece.epoch);
        const bool known = attempt != nullptr && piece.rank >= 0 &&
                           piece.rank < static_cast<int>(attempt->ranks.size());
        if (!known) return std::nullopt;
        const NodeId& node = attempt->ranks[static_cast<std::size_t>(piece.rank)].device.node;
        return check_speaks_for(caller, node) ? std::optional(attempt->job) : std::nullopt;
    });
}

// Claims everything up to the piece, so that the worker does not keep it for ever.
StreamOffsets unknown_offsets(const TelemetryPiece& piece) {
    if (piece.kind == PieceKind::log) return {.log = piece.end_offset};
    return {.reports = piece.end_offset};
}

class WorkerService final : public pb::WorkerService::Service {
public:
    WorkerService(const SessionContext& session, OpsContext& ops, TelemetryLoop& telemetry,
                  const Gatekeeper& gatekeeper)
        : session_(session), ops_(ops), telemetry_(telemetry), gatekeeper_(gatekeeper) {}

    grpc::Status Session(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>* call) override {
        const std::string peer = context->peer();  // not known any more once it has gone
        const auto stream = session_stream(*context, *call);
        CheckedStream checked(*stream, [&] { return caller_of(*context, gatekeeper_); });
        Status status = run_session(checked, peer, session_);
        if (!checked.status()) status = checked.status();
        const bool expected = status || status.error().code == ErrorCode::unavailable;
        log_event(
            expected ? LogLevel::info : LogLevel::warning, "session_ended",
            {{"peer", peer}, {"reason", status ? "the worker closed it" : status.error().message}});
        return to_grpc(status);
    }

    grpc::Status Telemetry(grpc::ServerContext* context, TelemetryCall* call) override {
        const auto caller = caller_of(*context, gatekeeper_);
        if (!caller) return to_grpc(caller.error());
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
            take(message, *caller, acks);
        acks->close();
        writer.join();
        const auto error = acks->error();
        if (error) log_event(LogLevel::warning, "telemetry_not_kept", {{"reason", error->message}});
        return error ? to_grpc(*error) : grpc::Status::OK;
    }

private:
    void take(const pb::TelemetryMessage& message, const Principal& caller,
              const std::shared_ptr<AckQueue>& acks) {
        TelemetryPiece piece = piece_of(message, ops_.clock.wall());
        const AckQueue::Key key{piece.epoch, piece.rank};
        acks->sent();
        const std::optional<JobId> job = job_of(ops_.control, piece, caller);
        if (!job) return acks->kept(key, unknown_offsets(piece));
        piece.job = *job;
        telemetry_.push(std::move(piece), [acks, key](const Result<StreamOffsets>& offsets) {
            acks->kept(key, offsets);
        });
    }

    const SessionContext& session_;
    OpsContext& ops_;
    TelemetryLoop& telemetry_;
    const Gatekeeper& gatekeeper_;
};

class RendezvousService final : public pb::RendezvousService::Service {
public:
    RendezvousService(ExchangeTable& table, const Gatekeeper& gatekeeper)
        : table_(table), gatekeeper_(gatekeeper) {}

    grpc::Status Exchange(grpc::ServerContext* context, const pb::ExchangeRequest* request,
                          pb::ExchangeReply* reply) override {
        const auto caller = caller_of(*context, gatekeeper_);
        if (!caller) return to_grpc(caller.error());
        const Status own = check_speaks_for(*caller, {request->node_id()});
        if (!own) return to_grpc(own);
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

private:
    ExchangeTable& table_;
    const Gatekeeper& gatekeeper_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_worker_service(const SessionContext& session,
                                                   OpsContext& context, TelemetryLoop& telemetry,
                                                   const Gatekeeper& gatekeeper) {
    return std::make_unique<WorkerService>(session, context, telemetry, gatekeeper);
}
std::unique_ptr<grpc::Service> make_rendezvous_service(ExchangeTable& table,
                                                       const Gatekeeper& gatekeeper) {
    return std::make_unique<RendezvousService>(table, gatekeeper);
}

}  // namespace rm
