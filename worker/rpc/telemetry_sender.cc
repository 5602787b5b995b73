#include "worker/rpc/telemetry_sender.h"

#include <atomic>
#include <thread>
#include <utility>

#include "base/os/loop.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"
#include "spec/report.h"
#include "worker/session/backoff.h"

namespace rm {
namespace {

constexpr Seconds kLookInterval{0.2};

void put(pb::TelemetryMessage& message, const StepReport& report) {
    *message.mutable_step() = to_proto(report);
}
void put(pb::TelemetryMessage& message, const EvaluationReport& report) {
    *message.mutable_evaluation() = to_proto(report);
}
// An older controller that does not know one of the next two takes it for a note.
void put(pb::TelemetryMessage& message, const SuiteReport& report) {
    message.set_note(suite_line(report));
    *message.mutable_suite() = to_proto(report);
}
void put(pb::TelemetryMessage& message, const ConnectedReport& report) {
    message.set_note(connected_line(report));
    *message.mutable_connected() = to_proto(report);
}
void put(pb::TelemetryMessage& message, const Note& note) {
    message.set_note(note.text);
    message.set_alarm(note.alarm);
}
void put(pb::TelemetryMessage& message, const LogChunk& log) {
    message.set_log(log.bytes);
}

}  // namespace

class TelemetrySender::Impl {
public:
    Impl(std::shared_ptr<ControllerChannel> channel, NodeId node, Attempts& attempts)
        : channel_(std::move(channel)),
          node_(std::move(node)),
          attempts_(attempts),
          backoff_({}, std::hash<std::string>{}(node_.value)),
          loop_([this](auto& stop) { return serve_and_wait(stop); }, Loop::kUntilWoken) {}

    void allow() {
        if (!allowed_.exchange(true)) loop_.wake();
    }

private:
    using Call = grpc::ClientReaderWriter<pb::TelemetryMessage, pb::TelemetryAck>;

    Seconds serve_and_wait(const std::stop_token& stop) {
        if (serve(stop)) backoff_.reset();
        return backoff_.next();
    }

    // Serves one stream to its end; true when the controller acknowledged anything on it.
    bool serve(const std::stop_token& stop) {
        grpc::ClientContext context;
        std::stop_source ended;
        const std::stop_callback at_stop(stop, [&] {
            ended.request_stop();
            context.TryCancel();
        });
        const auto channel = channel_->get();
        const auto stub = pb::WorkerService::NewStub(channel);
        const std::unique_ptr<Call> call = stub->Telemetry(&context);
        bool acknowledged = false;
        std::thread reader([&] {
            acknowledged = read_acks(*call);
            ended.request_stop();
        });
        attempts_.rewind();
        send(*call, channel, ended.get_token());
        context.TryCancel();
        reader.join();
        const grpc::Status end = call->Finish();
        if (acknowledged) down_.over();
        if (!stop.stop_requested() && channel == channel_->get())
            down_.came(LogLevel::warning, end.error_message(), SystemClock().mono());
        return acknowledged;
    }

    // Until the stream ends, or its channel is replaced.
    void send(Call& call, const std::shared_ptr<grpc::Channel>& channel,
              const std::stop_token& ended) {
        while (!ended.stop_requested() && channel == channel_->get()) {
            const auto piece = attempts_.next_piece();
            if (piece && !call.Write(wire(*piece))) return;
            if (!piece) sleep_for(kLookInterval, ended);
        }
    }

    pb::TelemetryMessage wire(const SpooledPiece& piece) const {
        pb::TelemetryMessage message;
        message.set_node_id(node_.value);
        message.set_epoch(piece.epoch.value);
        message.set_rank(piece.rank);
        message.set_end_offset(piece.end_offset);
        std::visit([&](const auto& content) { put(message, content); }, piece.content);
        if (message.has_step()) *message.mutable_step()->mutable_time() = to_proto(piece.time);
        return message;
    }

    bool read_acks(Call& call) {
        bool any = false;
        pb::TelemetryAck ack;
        while (call.Read(&ack)) {
            any = true;
            attempts_.acknowledge({ack.epoch()}, ack.rank(), ack.reports_offset(),
                                  ack.log_offset());
        }
        return any;
    }

    const std::shared_ptr<ControllerChannel> channel_;
    const NodeId node_;
    Attempts& attempts_;
    RepeatedEvent down_{"telemetry_down"};
    Backoff backoff_;
    std::atomic<bool> allowed_ = false;
    Loop loop_;
};

TelemetrySender::TelemetrySender(std::shared_ptr<ControllerChannel> channel, NodeId node,
                                 Attempts& attempts)
    : impl_(std::make_unique<Impl>(std::move(channel), std::move(node), attempts)) {}

TelemetrySender::~TelemetrySender() = default;

void TelemetrySender::allow() {
    impl_->allow();
}

}  // namespace rm
