#include "worker/rpc/telemetry_sender.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/report_text.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert.h"
#include "service/grpc_util.h"
#include "service/repeated_event.h"
#include "worker/session/backoff.h"

namespace rm {
namespace {

constexpr std::chrono::milliseconds kLookInterval{200};

void put(pb::TelemetryMessage& message, const StepReport& report) {
    *message.mutable_step() = to_proto(report);
}
void put(pb::TelemetryMessage& message, const EvaluationReport& report) {
    *message.mutable_evaluation() = to_proto(report);
}
// A controller that does not know it takes it for a note.
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

class TelemetrySender::Loop {
public:
    Loop(std::shared_ptr<grpc::Channel> channel, NodeId node, Attempts& attempts)
        : stub_(pb::WorkerService::NewStub(std::move(channel))),
          node_(std::move(node)),
          attempts_(attempts),
          thread_([this] { run(); }) {}

    ~Loop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
            if (context_ != nullptr) context_->TryCancel();
            changed_.notify_all();
        }
        thread_.join();
    }

    void allow() {
        const std::lock_guard lock(mutex_);
        allowed_ = true;
        changed_.notify_all();
    }

private:
    using Call = grpc::ClientReaderWriter<pb::TelemetryMessage, pb::TelemetryAck>;

    void run() {
        Backoff backoff({}, std::hash<std::string>{}(node_.value));
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return allowed_ || stopping_; });
        while (!stopping_) {
            lock.unlock();
            if (serve()) backoff.reset();
            lock.lock();
            const std::chrono::duration<double> pause(backoff.next().value);
            changed_.wait_for(lock, pause, [this] { return stopping_; });
        }
    }

    // One stream to its end; true when anything was acknowledged on it.
    bool serve() {
        grpc::ClientContext context;
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) return false;
            context_ = &context;
            ended_ = false;
        }
        const std::unique_ptr<Call> call = stub_->Telemetry(&context);
        bool acknowledged = false;
        std::thread reader([&] { acknowledged = read_acks(*call); });
        attempts_.rewind();
        send(*call);
        context.TryCancel();
        reader.join();
        const grpc::Status end = call->Finish();
        const std::lock_guard lock(mutex_);
        context_ = nullptr;
        if (acknowledged) down_.over();
        if (!stopping_) down_.came(LogLevel::warning, end.error_message(), SystemClock().mono());
        return acknowledged;
    }

    void send(Call& call) {
        while (!over()) {
            const auto piece = attempts_.next_piece();
            if (piece && !call.Write(wire(*piece))) return;
            if (!piece) wait_for_more();
        }
    }

    bool over() {
        const std::lock_guard lock(mutex_);
        return ended_ || stopping_;
    }

    void wait_for_more() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kLookInterval, [this] { return ended_ || stopping_; });
    }

    pb::TelemetryMessage wire(const SpooledPiece& piece) const {
        pb::TelemetryMessage message;
        message.set_node_id(node_.value);
        message.set_epoch(piece.epoch.value);
        message.set_rank(piece.rank);
        message.set_end_offset(piece.end_offset);
        std::visit([&](const auto& content) { put(message, content); }, piece.content);
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
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
        return any;
    }

    const std::unique_ptr<pb::WorkerService::Stub> stub_;
    const NodeId node_;
    Attempts& attempts_;
    RepeatedEvent down_{"telemetry_down"};
    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    grpc::ClientContext* context_ = nullptr;  // of the open stream
    bool ended_ = false;
    bool allowed_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

TelemetrySender::TelemetrySender(std::shared_ptr<grpc::Channel> channel, NodeId node,
                                 Attempts& attempts)
    : loop_(std::make_unique<Loop>(std::move(channel), std::move(node), attempts)) {}

TelemetrySender::~TelemetrySender() = default;

void TelemetrySender::allow() {
    loop_->allow();
}

}  // namespace rm
