#include "service/security/authenticator.h"

namespace rm {
namespace {

constexpr std::string_view kBearer = "Bearer ";

template <typename... Args>
Error refused(std::string_view pattern, const Args&... args) {
    return make_error(ErrorCode::unauthenticated, pattern, args...);
}

// A list that cannot be read admits no caller.
template <typename T>
Result<std::shared_ptr<const T>> judged_by(const ReloadedFile<T>& file) {
    auto list = file.get();
    if (list) return list;
    return refused("the controller cannot judge it: {}", list.error().message);
}

}  // namespace

Result<std::unique_ptr<Authenticator>> Authenticator::open(const AuthenticatorFiles& files) {
    std::unique_ptr<Authenticator> made(new Authenticator);
    if (!files.client_ca.empty()) {
        RM_TRY(const std::string pem, read_small_file(files.client_ca));
        RM_TRY(made->authority_, within(files.client_ca, ClientAuthority::parse(pem)));
    }
    if (!files.deny_list.empty()) {
        made->deny_list_.emplace(files.deny_list, parse_deny_list);
        RM_TRY(const auto denied, made->deny_list_->get());
    }
    if (!files.tokens.empty()) {
        made->tokens_.emplace(files.tokens, parse_tokens);
        RM_TRY(const auto tokens, made->tokens_->get());
    }
    return made;
}

Result<Principal> Authenticator::identify(const Presented& presented, WallTime now) const {
    if (!presented.authorization.empty()) return by_token(presented.authorization, now);
    if (!presented.certificate.empty()) return by_certificate(presented.certificate, now);
    return by_place(presented.transport);
}

Result<Principal> Authenticator::by_token(const std::string& authorization, WallTime now) const {
    if (!authorization.starts_with(kBearer)) {
        return refused("the authorization is not 'Bearer TOKEN'");
    }
    if (!tokens_) return refused("this controller takes no tokens");
    RM_TRY(const auto tokens, judged_by(*tokens_));
    const auto found = tokens->find(hash_token(authorization.substr(kBearer.size())));
    if (found == tokens->end()) return refused("the token is not known");
    const TokenFacts& facts = found->second;
    if (facts.expires && *facts.expires <= now) {
        return refused("the token of '{}' expired at {}", facts.name, to_iso8601(*facts.expires));
    }
    return Principal{facts.name, facts.role, "token"};
}

Result<Principal> Authenticator::by_certificate(const std::string& pem, WallTime now) const {
    if (!authority_) return refused("this controller takes no client certificates");
    RM_TRY(const CertificateFacts facts, authority_->verify(pem, now));
    if (deny_list_) {
        RM_TRY(const auto denied, judged_by(*deny_list_));
        RM_TRY(const std::string serial, normal_serial(facts.serial));
        if (denied->contains(serial)) {
            return refused("the certificate of '{}' ({}) is revoked", facts.name, facts.serial);
        }
    }
    const auto role = parse_word<Role>(facts.unit);
    if (!role) {
        return refused("the certificate of '{}' names no role: {}", facts.name,
                       role.error().message);
    }
    return Principal{facts.name, *role, format("certificate {}", facts.serial)};
}

Result<Principal> Authenticator::by_place(CallTransport transport) const {
    switch (transport) {
        case CallTransport::unix_socket:
            return Principal{"local", Role::admin, std::string(Principal::kUnixSocket)};
        case CallTransport::loopback:
            if (!tokens_) return Principal{"local", Role::admin, std::string(Principal::kLoopback)};
            return refused("no token: this controller requires one on loopback; give a token file");
        case CallTransport::tls:
            break;
    }
    return refused("no credential: give a client certificate (cert and key) or a token file");
}

bool speaks_for(const std::string& name, const std::string& node_id) {
    if (!name.ends_with('*')) return name == node_id;
    return node_id.starts_with(std::string_view(name).substr(0, name.size() - 1));
}

}  // namespace rm
