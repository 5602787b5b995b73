#include "tests/load/submits.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "ringmaster/v1/job.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "tests/load/channels.h"

namespace rm::load {
namespace {

using Clock = std::chrono::steady_clock;

JobSpec load_spec() {
    JobSpec spec;
    spec.name = "load";
    spec.model.preset = "tiny";
    spec.data.sources = {{"/data/text"}};
    spec.stages = {StageSpec{.context = 8192, .batch = 8192, .tokens = 81920}};
    return spec;
}

Clock::duration span_of(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// One client's share: submit number i of the whole load for i = index, index + clients, ...
void run_client(const std::shared_ptr<grpc::Channel>& channel, const SubmitLoad& load, int index,
                Clock::time_point start, SubmitReport& report) {
    const auto stub = pb::JobService::NewStub(channel);
    pb::SubmitRequest request;
    *request.mutable_spec() = to_proto(load_spec());
    request.mutable_spec()->set_yaml("name: load\n");
    const int total = static_cast<int>(load.rate * load.duration.value);
    for (int i = index; i < total; i += load.clients) {
        const auto due = start + span_of(i / load.rate);
        std::this_thread::sleep_until(due);
        request.set_request_id(format("load-{}", i));
        grpc::ClientContext context;
        pb::SubmitReply reply;
        const grpc::Status status = stub->Submit(&context, request, &reply);
        if (!status.ok()) {
            ++report.errors[status.error_message()];
            continue;
        }
        report.acked[request.request_id()] = reply.job_id();
        report.latencies.push_back(std::chrono::duration<double>(Clock::now() - due).count());
    }
}

std::vector<std::shared_ptr<grpc::Channel>> connect(const std::string& address, int count) {
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    for (int i = 0; i < count; ++i) {
        channels.push_back(own_channel(address));
        const auto limit = std::chrono::system_clock::now() + std::chrono::seconds(10);
        RM_CHECK(channels.back()->WaitForConnected(limit), "no connection to {}", address);
    }
    return channels;
}

void merge(SubmitReport& all, SubmitReport& one) {
    all.latencies.insert(all.latencies.end(), one.latencies.begin(), one.latencies.end());
    all.acked.merge(one.acked);
    for (const auto& [message, count] : one.errors)
        all.errors[message] += count;
}

}  // namespace

double SubmitReport::percentile(double fraction) const {
    if (latencies.empty()) return 0;
    const auto rank = static_cast<std::size_t>(fraction * static_cast<double>(latencies.size()));
    return latencies[std::min(rank, latencies.size() - 1)];
}

SubmitReport run_submits(const std::string& address, const SubmitLoad& load) {
    const auto channels = connect(address, load.clients);
    const auto start = Clock::now() + std::chrono::milliseconds(200);
    std::vector<SubmitReport> reports(static_cast<std::size_t>(load.clients));
    std::vector<std::thread> clients;
    for (int i = 0; i < load.clients; ++i) {
        const auto at = static_cast<std::size_t>(i);
        clients.emplace_back([&, at, i] { run_client(channels[at], load, i, start, reports[at]); });
    }
    for (std::thread& client : clients)
        client.join();
    SubmitReport all;
    all.elapsed = Seconds{std::chrono::duration<double>(Clock::now() - start).count()};
    for (SubmitReport& report : reports)
        merge(all, report);
    std::sort(all.latencies.begin(), all.latencies.end());
    return all;
}

}  // namespace rm::load
