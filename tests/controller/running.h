#pragma once

#include <grpcpp/client_context.h>

#include "controller/daemon.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "ringmaster/v1/node.grpc.pb.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert/convert.h"
#include "tests/controller/fake_worker.h"
#include "tests/support/temp_dir.h"

namespace rm::test {

namespace pb = ringmaster::v1;

// A whole controller on a Unix socket, with stubs.
class Running {
public:
    TempDir directory;
    std::string address = "unix:" + directory.file("c.sock");
    std::unique_ptr<Daemon> daemon;
    std::unique_ptr<pb::JobService::Stub> jobs;
    std::unique_ptr<pb::NodeService::Stub> nodes;
    std::unique_ptr<pb::WorkerService::Stub> workers;
    std::unique_ptr<pb::RendezvousService::Stub> rendezvous;

    Running() { start(); }

    DaemonOptions options() const {
        return {.state_dir = directory.file("state"),
                .listen = {address},
                .http = "127.0.0.1:0",
                .version = "0.0.0",
                .on_fatal = [](const std::string& message) { ADD_FAILURE() << message; }};
    }
    void start() { start(options()); }
    void start(DaemonOptions options) {
        auto started = Daemon::start(std::move(options));
        RM_CHECK(started.ok(), "{}", started.error().message);
        daemon = *std::move(started);
        const auto channel = make_channel(address).value();
        jobs = pb::JobService::NewStub(channel);
        nodes = pb::NodeService::NewStub(channel);
        workers = pb::WorkerService::NewStub(channel);
        rendezvous = pb::RendezvousService::NewStub(channel);
    }
    void restart() {
        daemon.reset();
        start();
    }

    static pb::SubmitRequest request(const JobSpec& spec, const std::string& id = "request") {
        pb::SubmitRequest request;
        request.set_request_id(id);
        *request.mutable_spec() = to_proto(spec);
        request.mutable_spec()->set_yaml("name: small\n");
        return request;
    }
    grpc::Status submit(const pb::SubmitRequest& request, pb::SubmitReply& reply) {
        grpc::ClientContext context;
        return jobs->Submit(&context, request, &reply);
    }
    std::string submit(const JobSpec& spec, const std::string& id = "request") {
        pb::SubmitReply reply;
        const grpc::Status status = submit(request(spec, id), reply);
        RM_CHECK(status.ok(), "{}", status.error_message());
        return reply.job_id();
    }
    grpc::Status get(const std::string& id, pb::Job& job) {
        grpc::ClientContext context;
        pb::GetJobRequest request;
        request.set_job_id(id);
        return jobs->Get(&context, request, &job);
    }
    pb::Job job(const std::string& id) {
        pb::Job job;
        const grpc::Status status = get(id, job);
        RM_CHECK(status.ok(), "{}", status.error_message());
        return job;
    }
    pb::Job wait_for(const std::string& id, pb::JobState state) {
        for (int i = 0; i < 6000; ++i) {
            pb::Job now = job(id);
            if (now.state() == state) return now;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        RM_CHECK(false, "job {} never became {}", id, pb::JobState_Name(state));
        return {};
    }
    grpc::Status cancel(const std::string& id) {
        grpc::ClientContext context;
        pb::CancelJobRequest request;
        request.set_job_id(id);
        pb::Job job;
        return jobs->Cancel(&context, request, &job);
    }
};

// A telemetry stream of one fake worker.
class TelemetrySender {
public:
    explicit TelemetrySender(Running& running) : call_(running.workers->Telemetry(&context_)) {}
    ~TelemetrySender() { finish(); }

    // Sends and waits for the acknowledgement.
    pb::TelemetryAck send(const pb::TelemetryMessage& message) {
        call_->Write(message);
        pb::TelemetryAck ack;
        RM_CHECK(call_->Read(&ack), "there is no acknowledgement");
        return ack;
    }
    // Sends a message that the controller refuses; returns the status that ends the stream.
    grpc::Status send_refused(const pb::TelemetryMessage& message) {
        call_->Write(message);
        pb::TelemetryAck ack;
        RM_CHECK(!call_->Read(&ack), "it was acknowledged up to {}", ack.reports_offset());
        finished_ = true;
        return call_->Finish();
    }
    grpc::Status finish() {
        if (finished_) return grpc::Status::OK;
        finished_ = true;
        call_->WritesDone();
        pb::TelemetryAck ack;
        while (call_->Read(&ack)) {
        }
        return call_->Finish();
    }

    static pb::TelemetryMessage step(Epoch epoch, std::int64_t number, double loss) {
        pb::TelemetryMessage message;
        message.set_epoch(epoch.value);
        message.set_end_offset(number * 100);
        message.mutable_step()->set_step(number);
        message.mutable_step()->set_loss(loss);
        return message;
    }
    static pb::TelemetryMessage log(Epoch epoch, int rank, std::int64_t end, std::string bytes) {
        pb::TelemetryMessage message;
        message.set_epoch(epoch.value);
        message.set_rank(rank);
        message.set_end_offset(end);
        message.set_log(std::move(bytes));
        return message;
    }

private:
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReaderWriter<pb::TelemetryMessage, pb::TelemetryAck>> call_;
    bool finished_ = false;
};

}  // namespace rm::test
