#include "worker/join/join.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <random>
#include <thread>

#include "ringmaster/v1/join.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"
#include "service/security/server_chain.h"
#include "service/security/tokens.h"
#include "worker/session/backoff.h"

namespace rm {
namespace {

constexpr std::chrono::seconds kCallLimit{10};
constexpr std::chrono::milliseconds kStep{100};
constexpr Seconds kConnectLimit{3};
constexpr std::size_t kMaxName = 48;  // JoinBook

// A machine's name may have letters that ids of nodes have not.
std::string id_name(const std::string& name) {
    std::string plain;
    for (const unsigned char c : name.substr(0, kMaxName)) {
        const bool good =
            std::isalnum(c) != 0 || c == '_' || c == '.' || (c == '-' && !plain.empty());
        plain += good ? static_cast<char>(c) : 'x';
    }
    return plain.empty() ? "node" : plain;
}

bool is_worth_repeating(ErrorCode code) {
    return code == ErrorCode::unavailable || code == ErrorCode::deadline_exceeded ||
           code == ErrorCode::resource_exhausted;
}

class Joining {
public:
    Joining(const JoinOrder& order, const NodePki& pki) : order_(order), pki_(pki) {}

    Status attempt() {
        if (!found_) {
            RM_RETURN_IF_ERROR(find_ca());
        }
        RM_TRY(const std::string key, pki_.first_key());
        RM_TRY(const std::string signing, make_signing_request(key));
        RM_TRY(const pb::JoinReply reply, ask(signing));
        RM_RETURN_IF_ERROR(pki_.keep_first(reply.certificate()));
        log_event(LogLevel::info, "joined",
                  {{"node", reply.node_id()}, {"controller", order_.controller}});
        return {};
    }

private:
    Status find_ca() {
        RM_TRY(const HostPort address, parse_host_port(order_.controller));
        const std::string& name = order_.server_name.empty() ? address.host : order_.server_name;
        RM_TRY(const std::string pem,
               find_authority(address, {order_.fingerprint, name, SystemClock().wall()}));
        RM_TRY(const std::string made, pki_.first_key());  // with its directory
        RM_RETURN_IF_ERROR(pki_.keep_ca(pem));
        found_ = true;
        return {};
    }

    Result<pb::JoinReply> ask(const std::string& signing) const {
        RM_TRY(const auto channel,
               make_channel(order_.controller, {.ca = pki_.ca(),
                                                .certificate = {},
                                                .key = {},
                                                .token_file = order_.token_file,
                                                .server_name = order_.server_name}));
        pb::JoinRequest request;
        request.set_name(id_name(order_.name));
        request.mutable_signing()->set_pem(signing);
        pb::JoinReply reply;
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
        connect_again(*channel, kConnectLimit);
        const grpc::Status status =
            pb::JoinService::NewStub(channel)->Join(&context, request, &reply);
        if (status.ok()) return reply;
        return from_grpc(status);
    }

    const JoinOrder& order_;
    const NodePki& pki_;
    bool found_ = false;
};

// False: it must stop.
bool pause(Seconds span, const std::function<bool()>& must_stop) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(span.value);
    while (std::chrono::steady_clock::now() < end) {
        if (must_stop()) return false;
        std::this_thread::sleep_for(kStep);
    }
    return !must_stop();
}

}  // namespace

Status join_cluster(const JoinOrder& order, const NodePki& pki,
                    const std::function<bool()>& must_stop) {
    // A mistake in the file shows even while no controller answers.
    const auto token = read_token_file(order.token_file);
    if (!token) return make_error(ErrorCode::permission_denied, "{}", token.error().message);
    Joining joining(order, pki);
    Backoff backoff({}, std::random_device()());
    RepeatedEvent waits("join_waits");
    while (true) {
        const Status joined = joining.attempt();
        if (joined) return joined;
        const Error& error = joined.error();
        if (!is_worth_repeating(error.code)) {
            return make_error(ErrorCode::permission_denied, "this machine cannot join: {}",
                              error.message);
        }
        waits.came(LogLevel::warning, error.message, SystemClock().mono());
        if (!pause(backoff.next(), must_stop)) {
            return make_error(ErrorCode::cancelled, "the worker is asked to stop");
        }
    }
}

}  // namespace rm
