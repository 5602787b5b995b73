#include "worker/rpc/grpc_rendezvous.h"

#include <chrono>
#include <utility>

#include "base/os/loop.h"
#include "ringmaster/v1/worker.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"

namespace rm {
namespace {

// Limits a call, which waits for the other nodes: only a new call reaches a restarted controller.
constexpr std::chrono::seconds kCallLimit{30};
constexpr Seconds kPause{0.5};

bool is_worth_repeating(ErrorCode code) {
    // Resource exhausted: gRPC had no thread for the call.
    return code == ErrorCode::unavailable || code == ErrorCode::deadline_exceeded ||
           code == ErrorCode::resource_exhausted;
}

class GrpcRendezvous final : public Rendezvous {
public:
    GrpcRendezvous(std::shared_ptr<ControllerChannel> channel, NodeId node)
        : channel_(std::move(channel)), node_(std::move(node)) {}

    ExchangeAnswer exchange(Epoch epoch, const std::string& group, const BlobsByRank& blobs,
                            std::stop_token stop) override {
        pb::ExchangeRequest request;
        request.set_epoch(epoch.value);
        request.set_group(group);
        request.set_node_id(node_.value);
        for (const auto& [rank, blob] : blobs)
            (*request.mutable_blobs())[rank] = blob;
        return until_answered<ExchangeAnswer>(epoch, "exchange_repeated", stop,
                                              [&] { return call(request, stop); });
    }

    Status publish(Epoch epoch, std::stop_token stop) override {
        return until_answered<Status>(epoch, "publish_repeated", stop,
                                      [&] { return call_publish(epoch, stop); });
    }

private:
    template <typename Answer, typename Call>
    Answer until_answered(Epoch epoch, std::string_view event, const std::stop_token& stop,
                          const Call& call) {
        std::string said;  // an export may wait for hours
        while (true) {
            Answer answer = call();
            if (answer || !is_worth_repeating(answer.error().code)) return answer;
            const std::string& reason = answer.error().message;
            if (reason != said) {
                log_event(LogLevel::warning, event, {{"epoch", epoch}, {"reason", reason}});
            }
            said = reason;
            if (!sleep_for(kPause, stop))
                return make_error(ErrorCode::cancelled, "the worker is stopping");
        }
    }

    ExchangeAnswer call(const pb::ExchangeRequest& request, const std::stop_token& stop) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
        const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
        pb::ExchangeReply reply;
        const grpc::Status status = stub()->Exchange(&context, request, &reply);
        if (!status.ok()) return from_grpc(status);
        return std::vector<std::string>(reply.blobs().begin(), reply.blobs().end());
    }

    Status call_publish(Epoch epoch, const std::stop_token& stop) {
        pb::PublishRequest request;
        request.set_epoch(epoch.value);
        request.set_node_id(node_.value);
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
        const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
        pb::PublishReply reply;
        const grpc::Status status = stub()->Publish(&context, request, &reply);
        if (!status.ok()) return from_grpc(status);
        return {};
    }

    std::unique_ptr<pb::RendezvousService::Stub> stub() const {
        return pb::RendezvousService::NewStub(channel_->get());
    }

    const std::shared_ptr<ControllerChannel> channel_;
    const NodeId node_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_grpc_rendezvous(std::shared_ptr<ControllerChannel> channel,
                                                 NodeId node) {
    return std::make_unique<GrpcRendezvous>(std::move(channel), std::move(node));
}

}  // namespace rm
