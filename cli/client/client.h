#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "cli/client/target.h"

namespace grpc {
class Channel;
class ChannelInterface;
class ClientContext;
template <class Piece>
class ClientReader;
class Status;
}  // namespace grpc

namespace rm {

// The controller as the command line sees it. Sources that include a service's generated client
// call
//     client.call(&pb::JobService::Stub::Get, request)
// with gRPC's name for it. Every call is idempotent (Submit through its request id), so
// UNAVAILABLE is tried three times with growing pauses, each reported to `note`, before it fails.
// Calls that do not stream give up after 20 s.
class Client {
public:
    using Note = std::function<void(std::string_view)>;
    template <typename Service, typename Request, typename Reply>
    using Method = grpc::Status (Service::*)(grpc::ClientContext*, const Request&, Reply*);
    template <typename Service, typename Request, typename Piece>
    using StreamMethod = std::unique_ptr<grpc::ClientReader<Piece>> (Service::*)(
        grpc::ClientContext*, const Request&);

    // INVALID_ARGUMENT for an address beyond loopback without a CA, or credentials that cannot be
    // read. Nothing is sent before the first call.
    static Result<Client> open(const Target& target, Note note);

    template <typename Service, typename Request, typename Reply>
    Result<Reply> call(Method<Service, Request, Reply> method,
                       const std::type_identity_t<Request>& request) const {
        Service service(channel());
        Reply reply;
        RM_RETURN_IF_ERROR(send([&](grpc::ClientContext& context) {
            reply.Clear();
            return (service.*method)(&context, request, &reply);
        }));
        return reply;
    }

    // The first piece of a stream that the server ends.
    template <typename Service, typename Request, typename Piece>
    Result<Piece> call(StreamMethod<Service, Request, Piece> method,
                       const std::type_identity_t<Request>& request) const {
        Service service(channel());
        Piece first;
        RM_RETURN_IF_ERROR(send([&](grpc::ClientContext& context) {
            first.Clear();
            const auto reader = (service.*method)(&context, request);
            reader->Read(&first);
            for (Piece rest; reader->Read(&rest);) {
            }
            return reader->Finish();
        }));
        return first;
    }

    // Reads all pages of a list: `take(reply)` keeps the needed part of each.
    template <typename Service, typename Request, typename Reply, typename Take>
    Status call_pages(Method<Service, Request, Reply> method, std::type_identity_t<Request> request,
                      const Take& take) const {
        for (;;) {
            RM_TRY(const Reply reply, call(method, request));
            take(reply);
            if (reply.next_page_token().empty()) return {};
            request.set_page_token(reply.next_page_token());
        }
    }

    // Streams until the server ends the stream or `stop` is requested (then CANCELLED); does not
    // retry: the caller knows where to resume, and calls connect_again() first.
    template <typename Service, typename Request, typename Piece, typename OnPiece>
    Status stream(StreamMethod<Service, Request, Piece> method,
                  const std::type_identity_t<Request>& request, const std::stop_token& stop,
                  const OnPiece& on_piece) const {
        Service service(channel());
        return receive(stop, [&](grpc::ClientContext& context) {
            const auto reader = (service.*method)(&context, request);
            for (Piece piece; reader->Read(&piece);)
                on_piece(piece);
            return reader->Finish();
        });
    }
    void connect_again() const;

    void note(std::string_view text) const { note_(text); }

private:
    using Send = std::function<grpc::Status(grpc::ClientContext&)>;
    Client(Target target, Note note, std::shared_ptr<grpc::Channel> channel);
    Status send(const Send& once) const;
    Status receive(const std::stop_token& stop, const Send& once) const;
    Error error_of(const grpc::Status& status) const;
    std::shared_ptr<grpc::ChannelInterface> channel() const;

    Target target_;
    Note note_;
    std::shared_ptr<grpc::Channel> channel_;  // gRPC's: services hold it, too
};

}  // namespace rm
