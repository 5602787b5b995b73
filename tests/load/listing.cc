#include "tests/load/listing.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/check.h"
#include "ringmaster/v1/job.grpc.pb.h"
#include "tests/load/channels.h"

namespace rm::load {
namespace {

namespace pb = ringmaster::v1;
using Stub = pb::JobService::Stub;

int list(Stub& stub, bool all) {
    grpc::ClientContext context;
    pb::ListJobsRequest request;
    request.set_include_ended(all);
    pb::ListJobsReply reply;
    const grpc::Status status = stub.List(&context, request, &reply);
    RM_CHECK(status.ok(), "{}", status.error_message());
    return reply.jobs_size();
}

pb::HistoryReply history_page(Stub& stub, const pb::HistoryRequest& request) {
    grpc::ClientContext context;
    pb::HistoryReply reply;
    const grpc::Status status = stub.History(&context, request, &reply);
    RM_CHECK(status.ok(), "{}", status.error_message());
    return reply;
}

int history(Stub& stub, const pb::HistoryRequest& request) {
    return history_page(stub, request).jobs_size();
}

// Page after page, as the CLI asks.
int whole_history(Stub& stub, pb::HistoryRequest request) {
    int rows = 0;
    do {
        const pb::HistoryReply reply = history_page(stub, request);
        rows += reply.jobs_size();
        request.set_page_token(reply.next_page_token());
    } while (!request.page_token().empty());
    return rows;
}

pb::HistoryRequest of_name(const std::string& name) {
    pb::HistoryRequest request;
    request.set_name(name);
    return request;
}

pb::HistoryRequest from(const std::string& token) {
    pb::HistoryRequest request;
    request.set_page_token(token);
    return request;
}

CallTimes time_call(const std::string& what, int repeats, const std::function<int()>& call) {
    std::vector<double> times;
    CallTimes result{.what = what};
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        result.rows = call();
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    result.median = times[times.size() / 2];
    result.worst = times.back();
    return result;
}

}  // namespace

std::vector<CallTimes> time_lists(const std::string& address, int repeats) {
    const auto stub = pb::JobService::NewStub(own_channel(address));
    list(*stub, true);  // the connection is made here
    return {
        time_call("ls", repeats, [&] { return list(*stub, false); }),
        time_call("ls --all", repeats, [&] { return list(*stub, true); }),
        time_call("history", repeats, [&] { return history(*stub, {}); }),
        time_call("history --name job-7", repeats,
                  [&] { return whole_history(*stub, of_name("job-7")); }),
        time_call("history --name nowhere", repeats,
                  [&] { return whole_history(*stub, of_name("-")); }),
        time_call("history, the last page", repeats, [&] { return history(*stub, from("50")); }),
    };
}

}  // namespace rm::load
