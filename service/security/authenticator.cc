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

Status Authenticator::load_authorities(const AuthenticatorFiles& files) {
    std::string pem;
    std::string of_nodes;
    if (!files.client_ca.empty()) {
        RM_TRY(pem, read_small_file(files.client_ca));
        RM_TRY(authority_, within(files.client_ca, ClientAuthority::parse(pem)));
    }
    if (files.node_authority.empty()) return {};
    RM_TRY(of_nodes, read_small_file(files.node_authority));
    RM_TRY(const std::string serial, within(files.node_authority, serial_of(of_nodes)));
    RM_TRY(node_authority_serial_, normal_serial(serial));
    RM_TRY(authority_, within(files.node_authority, ClientAuthority::parse(pem, of_nodes)));
    return {};
}

Result<std::unique_ptr<Authenticator>> Authenticator::open(const AuthenticatorFiles& files,
                                                           const IssuedCredentials* issued) {
    std::unique_ptr<Authenticator> made(new Authenticator);
    made->issued_ = issued;
    RM_RETURN_IF_ERROR(made->load_authorities(files));
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
    const std::string token = authorization.substr(kBearer.size());
    if (is_join_token(token)) return by_join_token(token);
    if (!tokens_) return refused("this controller takes no tokens");
    RM_TRY(const auto tokens, judged_by(*tokens_));
    const auto found = tokens->find(hash_token(token));
    if (found == tokens->end()) return refused("the token is not known");
    const TokenFacts& facts = found->second;
    if (facts.expires && *facts.expires <= now) {
        return refused("the token of '{}' expired at {}", facts.name, to_iso8601(*facts.expires));
    }
    return Principal{facts.name, facts.role, "token"};
}

Result<Principal> Authenticator::by_join_token(std::string_view token) const {
    const auto id = issued_ == nullptr ? std::nullopt : issued_->join_token(hash_token(token));
    if (id) return Principal{format("join token {}", *id), Role::joiner, "join token"};
    return refused("the join token is not known here; `ringmaster token create` makes one");
}

Status Authenticator::check_not_denied(const CertificateFacts& facts) const {
    if (facts.of_nodes && issued_ != nullptr) RM_RETURN_IF_ERROR(issued_->check_certificate(facts));
    if (!deny_list_) return {};
    RM_TRY(const auto denied, judged_by(*deny_list_));
    RM_TRY(const std::string serial, normal_serial(facts.serial));
    if (denied->contains(serial)) {
        return refused("the certificate of '{}' ({}) is revoked", facts.name, facts.serial);
    }
    if (facts.of_nodes && denied->contains(node_authority_serial_)) {
        return refused("the authority for nodes, which signed the certificate of '{}', is revoked",
                       facts.name);
    }
    return {};
}

Result<Principal> Authenticator::by_certificate(const std::string& pem, WallTime now) const {
    if (!authority_) return refused("this controller takes no client certificates");
    RM_TRY(const CertificateFacts facts, authority_->verify(pem, now));
    RM_RETURN_IF_ERROR(check_not_denied(facts));
    const auto role = parse_word<Role>(facts.unit);
    if (!role || *role == Role::joiner) {
        return refused("the certificate of '{}' names no role: {}", facts.name,
                       role ? "only tokens join" : role.error().message);
    }
    const bool one_node = *role == Role::worker && !facts.name.ends_with('*');
    if (facts.of_nodes && !one_node) {
        return refused(
            "the certificate of '{}' has the role {} from the authority for nodes, which makes "
            "certificates of single nodes alone",
            facts.name, to_string(*role));
    }
    return Principal{facts.name, *role, format("certificate {}", facts.serial), facts.of_nodes};
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
