#include "service/security/gatekeeper.h"

#include <algorithm>

namespace rm {

Result<Principal> Gatekeeper::admit(const Presented& presented, const CallFacts& call) const {
    const Result<Principal> principal = identify(presented);
    if (!principal) {
        refused({}, call, principal.error());
        return principal;
    }
    const Status allowed = allow(*principal, access(call.method));
    if (allowed) return principal;
    refused(*principal, call, allowed);
    return allowed.error();
}

void Gatekeeper::refused(const Principal& principal, const CallFacts& call,
                         const Status& status) const {
    tell(call, status);
    record(principal, call, "", status);
}

const MethodAccess* Gatekeeper::access(std::string_view method) const {
    const auto found = std::find_if(table_.begin(), table_.end(), [&](const MethodAccess& access) {
        return access.method == method;
    });
    return found == table_.end() ? nullptr : &*found;
}

namespace {

// "/ringmaster.v1.NodeService/Drain" is NodeService/Drain, as in the audit.
std::string_view short_method(std::string_view method) {
    const std::size_t package = method.rfind('.');
    return package == std::string_view::npos ? method : method.substr(package + 1);
}

std::string_view code_of(const Status& status) {
    return status ? AuditEntry::kOk : to_string(status.error().code);
}

}  // namespace

void Gatekeeper::tell(const CallFacts& call, const Status& status) const {
    if (watch_ == nullptr) return;
    const MethodAccess* known = access(call.method);
    watch_->ended(known == nullptr ? "other" : known->method, code_of(status),
                  {call.since_begin.seconds()});
}

Status Gatekeeper::allow(const Principal& principal, const MethodAccess* access) const {
    if (access == nullptr) {
        return make_error(ErrorCode::unimplemented, "this server has no such method");
    }
    if (includes(principal.role, access->least)) return {};
    if (access->least == Role::joiner) {
        return make_error(ErrorCode::permission_denied,
                          "{} takes a join token alone; '{}' has the role {}",
                          short_method(access->method), principal.name, to_string(principal.role));
    }
    if (principal.role == Role::joiner) {
        return make_error(ErrorCode::permission_denied, "{} takes no join token",
                          short_method(access->method));
    }
    return make_error(ErrorCode::permission_denied, "{} needs the role {}; '{}' has the role {}",
                      short_method(access->method), to_string(access->least), principal.name,
                      to_string(principal.role));
}

void Gatekeeper::ended(const Presented& presented, const CallFacts& call,
                       const std::string& subject, const Status& status) const {
    tell(call, status);
    const MethodAccess* known = access(call.method);
    if (known == nullptr || !known->changes) return;
    const Result<Principal> principal = identify(presented);
    record(principal ? *principal : Principal{}, call, subject, status);
}

void Gatekeeper::refused_later(const Presented& presented, const CallFacts& call,
                               const std::string& subject, const Status& status) const {
    const Result<Principal> principal = identify(presented);
    record(principal ? *principal : Principal{}, call, subject, status);
}

void Gatekeeper::record(const Principal& principal, const CallFacts& call,
                        const std::string& subject, const Status& status) const {
    // The audit does not record unknown method names that callers sent.
    const bool known = access(call.method) != nullptr;
    audit_.record({.time = clock_.wall(),
                   .principal = principal.name,
                   .credential = principal.credential,
                   .peer = std::string(call.peer),
                   .method = known ? std::string(call.method) : "unknown",
                   .subject = subject,
                   .code = std::string(code_of(status)),
                   .reason = status ? "" : status.error().message,
                   .arguments = std::string(call.arguments)});
}

}  // namespace rm
