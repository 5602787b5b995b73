#include "tests/worker/fake_controller.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>

#include "base/check.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "tests/support/server_session.h"

namespace rm {
namespace {

constexpr std::chrono::seconds kPatience{60};

using ControllerEnd = MessageStream<WorkerMessage, ControllerMessage>;

}  // namespace

struct FakeController::Impl : pb::WorkerService::Service, pb::RendezvousService::Service {
    grpc::Status Session(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<pb::ControllerMessage, pb::WorkerMessage>* call) override {
        const auto stream = session_stream(*context, *call);
        {
            const std::lock_guard lock(mutex);
            contexts.insert(context);
            session = stream.get();
        }
        WorkerMessage message;
        while (stream->read(message)) {
            if (std::holds_alternative<Hello>(message)) {
                stream->write(HelloReply{.cluster = cluster});
            }
            const std::lock_guard lock(mutex);
            received.push_back(std::move(message));
            changed.notify_all();
        }
        const std::lock_guard lock(mutex);
        contexts.erase(context);
        if (session == stream.get()) session = nullptr;
        return grpc::Status::OK;
    }

    grpc::Status Telemetry(
        grpc::ServerContext* context,
        grpc::ServerReaderWriter<pb::TelemetryAck, pb::TelemetryMessage>* call) override {
        {
            std::unique_lock lock(mutex);
            contexts.insert(context);
            changed.wait(lock, [&] {
                return telemetry != FakeController::Telemetry::leave_unread || closing;
            });
        }
        pb::TelemetryMessage message;
        while (call->Read(&message)) {
            pb::TelemetryAck ack;
            {
                const std::lock_guard lock(mutex);
                keep(message);
                if (telemetry != FakeController::Telemetry::acknowledge) continue;
                ack.set_epoch(message.epoch());
                ack.set_rank(message.rank());
                ack.set_log_offset(log_offsets[message.rank()]);
                ack.set_reports_offset(report_offsets[message.rank()]);
            }
            call->Write(ack);
        }
        const std::lock_guard lock(mutex);
        contexts.erase(context);
        return grpc::Status::OK;
    }

    // Pieces that were kept before are recognised by their offset.
    void keep(const pb::TelemetryMessage& message) {
        const bool is_log = message.piece_case() == pb::TelemetryMessage::kLog;
        std::int64_t& end = (is_log ? log_offsets : report_offsets)[message.rank()];
        if (message.end_offset() <= end) return;
        end = message.end_offset();
        switch (message.piece_case()) {
            case pb::TelemetryMessage::kStep:
                steps[message.rank()].push_back(from_proto(message.step()));
                break;
            case pb::TelemetryMessage::kEvaluation:
                evaluations[message.rank()].push_back(from_proto(message.evaluation()));
                break;
            case pb::TelemetryMessage::kLog:
                logs[message.rank()] += message.log();
                break;
            case pb::TelemetryMessage::kNote:
            case pb::TelemetryMessage::PIECE_NOT_SET:
                break;
        }
    }

    grpc::Status Exchange(grpc::ServerContext*, const pb::ExchangeRequest* request,
                          pb::ExchangeReply* reply) override {
        const std::lock_guard lock(mutex);
        ++exchanges;
        for (const auto& [rank, blob] :
             std::map(request->blobs().begin(), request->blobs().end())) {
            reply->add_blobs(blob);
        }
        return grpc::Status::OK;
    }

    // Returns the first message that `take` accepts; drops those before it.
    template <typename T>
    std::optional<T> wait_for(const std::function<bool(const T&)>& wanted) {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        std::unique_lock lock(mutex);
        while (true) {
            while (!received.empty()) {
                const WorkerMessage message = std::move(received.front());
                received.pop_front();
                const T* value = std::get_if<T>(&message);
                if (value != nullptr && wanted(*value)) return *value;
            }
            if (changed.wait_until(lock, deadline) == std::cv_status::timeout) return std::nullopt;
        }
    }

    void drop() {
        const std::lock_guard lock(mutex);
        for (grpc::ServerContext* context : contexts)
            context->TryCancel();
    }

    ClusterId cluster;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<WorkerMessage> received;
    ControllerEnd* session = nullptr;
    std::set<grpc::ServerContext*> contexts;
    std::map<int, std::vector<StepReport>> steps;
    std::map<int, std::vector<EvaluationReport>> evaluations;
    std::map<int, std::string> logs;
    std::map<int, std::int64_t> log_offsets;
    std::map<int, std::int64_t> report_offsets;
    int exchanges = 0;
    FakeController::Telemetry telemetry = FakeController::Telemetry::acknowledge;
    bool closing = false;
    std::unique_ptr<GrpcServer> server;
};

FakeController::FakeController(const std::string& address, ClusterId cluster)
    : impl_(std::make_unique<Impl>()) {
    impl_->cluster = std::move(cluster);
    auto server =
        GrpcServer::start({address}, {static_cast<pb::WorkerService::Service*>(impl_.get()),
                                      static_cast<pb::RendezvousService::Service*>(impl_.get())});
    RM_CHECK(server.ok(), "{}", server.error().message);
    impl_->server = std::move(*server);
    address_ = impl_->server->addresses().front();
}

FakeController::~FakeController() {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->closing = true;
        impl_->changed.notify_all();
    }
    impl_->drop();
    impl_->server.reset();
}

std::optional<Hello> FakeController::wait_hello() {
    return impl_->wait_for<Hello>([](const Hello&) { return true; });
}

std::optional<AttemptStatus> FakeController::wait_status(
    const std::function<bool(const AttemptStatus&)>& wanted) {
    return impl_->wait_for<AttemptStatus>(wanted);
}

std::optional<CommandRefused> FakeController::wait_refusal() {
    return impl_->wait_for<CommandRefused>([](const CommandRefused&) { return true; });
}

bool FakeController::ping(std::uint64_t nonce) {
    send(Ping{nonce});
    return impl_->wait_for<Pong>([&](const Pong& pong) { return pong.nonce == nonce; }).has_value();
}

void FakeController::send(ControllerMessage message) {
    const std::lock_guard lock(impl_->mutex);
    RM_CHECK(impl_->session != nullptr, "there is no session");
    impl_->session->write(message);
}

void FakeController::drop_streams() {
    impl_->drop();
}

std::vector<StepReport> FakeController::steps(int rank) const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->steps[rank];
}

std::vector<EvaluationReport> FakeController::evaluations(int rank) const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->evaluations[rank];
}

std::string FakeController::log(int rank) const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->logs[rank];
}

int FakeController::num_exchanges() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->exchanges;
}

void FakeController::set_telemetry(Telemetry mode) {
    const std::lock_guard lock(impl_->mutex);
    impl_->telemetry = mode;
    impl_->changed.notify_all();
}

}  // namespace rm
