#include "worker/join/renewal.h"

#include <algorithm>
#include <chrono>

#include "ringmaster/v1/join.grpc.pb.h"
#include "service/convert/convert.h"
#include "service/grpc/grpc_util.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr double kShare = 2.0 / 3;      // of its lifetime, before a certificate is renewed
constexpr Seconds kLongestSleep{3600};  // the clock may be set
constexpr Seconds kLongestPause{600};
constexpr Seconds kShortestPause{1};
constexpr std::chrono::seconds kCallLimit{10};

}  // namespace

WallTime renewal_time(const Lifetime& lifetime) {
    return lifetime.from + Seconds{kShare * (lifetime.until - lifetime.from).value};
}

Seconds retry_pause(const Lifetime& lifetime) {
    const Seconds left{(1 - kShare) / 20 * (lifetime.until - lifetime.from).value};
    return std::clamp(left, kShortestPause, kLongestPause);
}

Renewal::Renewal(Parts parts)
    : parts_(std::move(parts)), loop_([this](const auto&) { return look(); }) {}

Seconds Renewal::look() {
    const auto pem = read_small_file(parts_.pki.certificate());
    const auto lifetime = pem ? lifetime_of(*pem) : Result<Lifetime>(pem.error());
    if (!lifetime) {
        failed_.came(LogLevel::warning, lifetime.error().message, clock_.mono());
        return kLongestPause;
    }
    parts_.expires(lifetime->until);
    const Seconds left = renewal_time(*lifetime) - clock_.wall();
    if (left.value > 0) return std::min(left, kLongestSleep);
    const Status renewed = renew();
    if (renewed) {
        failed_.over();
        return {};
    }
    failed_.came(LogLevel::warning,
                 format("{}; the certificate of {} is good until {}", renewed.error().message,
                        parts_.node, to_iso8601(lifetime->until)),
                 clock_.mono());
    return retry_pause(*lifetime);
}

Status Renewal::renew() {
    KeyPair pair;
    RM_TRY(pair.key, make_private_key());
    pb::RenewRequest request;
    request.set_node_id(parts_.node.value);
    RM_TRY(*request.mutable_signing()->mutable_pem(), make_signing_request(pair.key));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    pb::RenewReply reply;
    const auto stub = pb::JoinService::NewStub(parts_.channel->get());
    const grpc::Status status = stub->Renew(&context, request, &reply);
    if (!status.ok()) return from_grpc(status);
    pair.certificate = reply.certificate();
    RM_RETURN_IF_ERROR(parts_.pki.replace(pair));
    RM_TRY(auto channel, make_channel(parts_.controller, parts_.pki.security(parts_.server_name)));
    parts_.channel->replace(std::move(channel));
    log_event(LogLevel::info, "certificate_renewed", {{"node", parts_.node}});
    parts_.renewed();
    return {};
}

}  // namespace rm
