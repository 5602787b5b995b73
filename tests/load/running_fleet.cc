#include "tests/load/running_fleet.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <cmath>

#include "ringmaster/v1/job.grpc.pb.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert/convert.h"
#include "tests/controller/fake_worker.h"
#include "tests/load/channels.h"

namespace rm::load {
namespace {

constexpr std::int64_t kTokens = std::int64_t{1} << 20;  // of a step
constexpr std::int64_t kReportBytes = 1000;              // of a rank's stream, a report

Hello hello_of(int number, int num_devices) {
    Hello hello = test::hello_of(format("node-{}", number), num_devices);
    for (DeviceInfo& device : hello.inventory.devices)
        device.memory = {std::int64_t{48} << 30};
    return hello;
}

JobSpec job_of(int num_ranks) {
    JobSpec spec;
    spec.name = "fleet";
    spec.model.preset = "tiny";
    spec.data.sources = {{"/data/text"}};
    spec.stages = {StageSpec{.context = kTokens, .batch = kTokens, .tokens = 1'000'000 * kTokens}};
    spec.parallel = Mesh::make(1, num_ranks, 1, 1).value();
    return spec;
}

// With every phase, kind of memory and axis of a large run.
StepReport report_of(int rank, std::int64_t step) {
    StepReport report{.step = step,
                      .num_steps = 1'000'000,
                      .tokens = kTokens,
                      .tokens_total = step * kTokens,
                      .loss = 2 + 3 / std::sqrt(static_cast<double>(step)),
                      .grad_norm = 0.5,
                      .learning_rate = 3e-4,
                      .seconds = 17 + 0.01 * ((rank * 7 + step) % 13),
                      .model_flops = 1e18,
                      .causal_mfu = 0.46,
                      .full_mfu = 0.81,
                      .hfu = 0.55,
                      .peak_name = "bf16 362 TFLOP/s"};
    for (const char* phase : {"attention", "gemm", "optimizer", "data", "idle"})
        report.phase_seconds[phase] = 3.1;
    for (const char* axis : {"ring", "ulysses", "tensor", "gather"})
        report.phase_seconds[exposed_phase(axis)] = 0.1;
    for (const char* kind : {"weights", "gradients", "optimizer", "activations", "workspace"}) {
        report.memory.add(kind, {std::int64_t{5} << 30});
        report.memory.add(on_host(kind), {std::int64_t{7} << 30});
    }
    for (const char* axis : {"ring", "ulysses", "tensor", "gradient"})
        report.axes[axis] = {std::int64_t{3} << 30, 0.1};
    report.hops[rank + 1] = {std::int64_t{3} << 30, 2.9e9};
    report.h2d_bytes = report.d2h_bytes = std::int64_t{9} << 30;
    return report;
}

}  // namespace

class RunningFleet::Node {
public:
    Node(const std::string& address, int number, int num_devices)
        : worker_(address, hello_of(number, num_devices)),
          stub_(pb::WorkerService::NewStub(own_channel(address))),
          telemetry_(stub_->Telemetry(&context_)),
          acks_([this] { read_acks(); }) {}
    ~Node() {
        telemetry_->WritesDone();
        acks_.join();
        telemetry_->Finish();
    }

    // The launch that the controller has sent, answered.
    void train() {
        launch_ = worker_.take<LaunchAttempt>();
        AttemptStatus status{.epoch = launch_.epoch, .job = launch_.job, .processes_left = true};
        for (const RankLaunch& rank : launch_.ranks) {
            status.ranks.push_back(
                {.rank = rank.rank, .device = rank.device, .running = true, .training = true});
        }
        worker_.say(status);
    }
    void report(std::int64_t step) {
        for (const RankLaunch& rank : launch_.ranks) {
            pb::TelemetryMessage message;
            message.set_epoch(launch_.epoch.value);
            message.set_rank(rank.rank);
            message.set_end_offset(step * kReportBytes);
            *message.mutable_step() = to_proto(report_of(rank.rank, step));
            telemetry_->Write(message);
        }
    }
    long num_acks() const { return num_acks_; }

private:
    void read_acks() {
        pb::TelemetryAck ack;
        while (telemetry_->Read(&ack))
            ++num_acks_;
    }

    test::JoinedWorker worker_;
    std::unique_ptr<pb::WorkerService::Stub> stub_;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReaderWriter<pb::TelemetryMessage, pb::TelemetryAck>> telemetry_;
    LaunchAttempt launch_;
    std::atomic<long> num_acks_ = 0;
    std::thread acks_;
};

RunningFleet::RunningFleet(const std::string& controller, const FleetLoad& load) : load_(load) {
    for (int i = 0; i < load.nodes; ++i)
        nodes_.push_back(std::make_unique<Node>(controller, i, load.devices));
    const auto jobs = pb::JobService::NewStub(own_channel(controller));
    pb::SubmitRequest request;
    *request.mutable_spec() = to_proto(job_of(load.nodes * load.devices));
    request.mutable_spec()->set_yaml("name: fleet\n");
    request.set_request_id("fleet");
    grpc::ClientContext context;
    pb::SubmitReply reply;
    const grpc::Status status = jobs->Submit(&context, request, &reply);
    RM_CHECK(status.ok(), "{}", status.error_message());
    job_ = reply.job_id();
    for (const auto& node : nodes_)
        node->train();
    reporter_ = std::thread([this] { report(); });
    wait_for_first_steps();
}

void RunningFleet::wait_for_first_steps() const {
    const long ranks = static_cast<long>(load_.nodes) * load_.devices;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (num_kept() < ranks) {
        RM_CHECK(std::chrono::steady_clock::now() < limit, "{} of {} first steps were kept",
                 num_kept(), ranks);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

RunningFleet::~RunningFleet() {
    stopping_ = true;
    reporter_.join();
}

void RunningFleet::report() {
    const auto start = std::chrono::steady_clock::now();
    while (!stopping_) {
        std::this_thread::sleep_until(
            start + std::chrono::duration<double>(steps_ / load_.steps_per_second));
        ++steps_;
        for (const auto& node : nodes_)
            node->report(steps_);
    }
}

long RunningFleet::num_kept() const {
    long kept = 0;
    for (const auto& node : nodes_)
        kept += node->num_acks();
    return kept;
}

}  // namespace rm::load
