#include <grpcpp/server_context.h>

#include "controller/rpc/caller.h"
#include "controller/rpc/services.h"
#include "ringmaster/v1/join.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"

namespace rm {
namespace {

constexpr std::string_view kBearer = "Bearer ";

pb::JoinToken to_message(const JoinToken& token) {
    pb::JoinToken message;
    message.set_id(token.id);
    message.set_creator(token.creator);
    *message.mutable_created() = to_proto(token.created);
    *message.mutable_expires() = to_proto(token.expires);
    message.set_uses(token.uses);
    message.set_used(token.used);
    if (token.revoked) *message.mutable_revoked() = to_proto(*token.revoked);
    return message;
}

class JoinService final : public pb::JoinService::Service {
public:
    JoinService(JoinBook& book, const Clock& clock, const Gatekeeper& gatekeeper)
        : book_(book), clock_(clock), gatekeeper_(gatekeeper) {}

    grpc::Status Join(grpc::ServerContext* context, const pb::JoinRequest* request,
                      pb::JoinReply* reply) override {
        return answer(join(*context, *request), reply);
    }
    grpc::Status Renew(grpc::ServerContext* context, const pb::RenewRequest* request,
                       pb::RenewReply* reply) override {
        return answer(renew(*context, *request), reply);
    }

private:
    Result<pb::JoinReply> join(const grpc::ServerContext& context, const pb::JoinRequest& request) {
        const std::string header = presented_by(context).authorization;
        const std::string token = header.substr(std::min(kBearer.size(), header.size()));
        RM_TRY(const Joined made,
               book_.join(hash_token(token), {request.name(), request.signing().pem(),
                                              context.peer(), clock_.wall()}));
        pb::JoinReply reply;
        reply.set_node_id(made.node.value);
        reply.set_certificate(made.certificate);
        return reply;
    }

    Result<pb::RenewReply> renew(const grpc::ServerContext& context,
                                 const pb::RenewRequest& request) {
        RM_TRY(const Principal caller, caller_of(context, gatekeeper_));
        RM_RETURN_IF_ERROR(check_speaks_for(caller, {request.node_id()}));
        if (!caller.of_nodes) {
            return make_error(ErrorCode::failed_precondition,
                              "the certificate of '{}' does not come from this controller's "
                              "authority for nodes, which renews only its own",
                              caller.name);
        }
        RM_TRY(const Joined made, book_.renew({request.node_id(), request.signing().pem(),
                                               context.peer(), clock_.wall()}));
        pb::RenewReply reply;
        reply.set_certificate(made.certificate);
        return reply;
    }

    JoinBook& book_;
    const Clock& clock_;
    const Gatekeeper& gatekeeper_;
};

class TokenService final : public pb::TokenService::Service {
public:
    TokenService(JoinBook& book, const Clock& clock, const Gatekeeper& gatekeeper, FindPlace place)
        : book_(book), clock_(clock), gatekeeper_(gatekeeper), place_(std::move(place)) {}

    grpc::Status Create(grpc::ServerContext* context, const pb::CreateTokenRequest* request,
                        pb::CreateTokenReply* reply) override {
        return answer(create(*context, *request), reply);
    }
    grpc::Status List(grpc::ServerContext*, const pb::ListTokensRequest*,
                      pb::ListTokensReply* reply) override {
        const auto tokens = book_.tokens();
        if (!tokens) return to_grpc(tokens.error());
        for (const JoinToken& token : *tokens)
            *reply->add_tokens() = to_message(token);
        return grpc::Status::OK;
    }
    grpc::Status Revoke(grpc::ServerContext*, const pb::RevokeTokenRequest* request,
                        pb::JoinToken* reply) override {
        const auto token = book_.revoke(request->id(), clock_.wall());
        if (!token) return to_grpc(token.error());
        *reply = to_message(*token);
        return grpc::Status::OK;
    }

private:
    Result<pb::CreateTokenReply> create(const grpc::ServerContext& context,
                                        const pb::CreateTokenRequest& request) {
        RM_TRY(const Principal caller, caller_of(context, gatekeeper_));
        RM_RETURN_IF_ERROR(book_.check_can_join());
        RM_TRY(const JoinPlace place, place_());
        RM_TRY(const JoinBook::NewToken made,
               book_.create(caller.name, clock_.wall(), {request.valid_seconds()}, request.uses()));
        pb::CreateTokenReply reply;
        reply.set_id(made.kept.id);
        reply.set_token(made.secret);
        *reply.mutable_kept() = to_message(made.kept);
        reply.set_ca_fingerprint(place.fingerprint);
        reply.set_address(place.address);
        return reply;
    }

    JoinBook& book_;
    const Clock& clock_;
    const Gatekeeper& gatekeeper_;
    const FindPlace place_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_join_service(JoinBook& book, const Clock& clock,
                                                 const Gatekeeper& gatekeeper) {
    return std::make_unique<JoinService>(book, clock, gatekeeper);
}
std::unique_ptr<grpc::Service> make_token_service(JoinBook& book, const Clock& clock,
                                                  const Gatekeeper& gatekeeper, FindPlace place) {
    return std::make_unique<TokenService>(book, clock, gatekeeper, std::move(place));
}

}  // namespace rm
