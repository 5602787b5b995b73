#include "controller/http/page_login.h"

#include "base/text.h"
#include "controller/access.h"
#include "controller/http/json_api.h"
#include "service/security/tokens.h"

namespace rm {
namespace {

constexpr std::string_view kCookie = "ringmaster";
constexpr std::size_t kMaxLogins = 1000;

// The value of this cookie in "a=b; c=d"; empty if absent.
std::string cookie_value(std::string_view cookies) {
    for (std::string_view item : split(cookies, ';')) {
        while (item.starts_with(' '))
            item.remove_prefix(1);
        const bool found =
            item.starts_with(kCookie) && item.substr(kCookie.size()).starts_with('=');
        if (found) return std::string(item.substr(kCookie.size() + 1));
    }
    return "";
}

HttpResponse set_cookie(const HttpRequest& request, std::string_view value, Seconds lifetime) {
    std::string cookie = format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict", kCookie,
                                value, static_cast<std::int64_t>(lifetime.value));
    if (request.over_tls) cookie += "; Secure";
    return {.content_type = "application/json", .body = "{}", .headers = {{"Set-Cookie", cookie}}};
}

}  // namespace

std::optional<HttpResponse> PageLogin::handle(const HttpRequest& request) {
    const bool in = request.path == kLoginPage;
    if (!in && request.path != kLogoutPage) return std::nullopt;
    if (request.method != "POST")
        return HttpResponse{.status = 405,
                            .body = request.method + " is not allowed here; only POST\n"};
    if (!request.is_marked)
        return HttpResponse{.status = 403, .body = "the header X-Ringmaster is missing\n"};
    return in ? log_in(request) : log_out(request);
}

HttpRequest PageLogin::with_credential(HttpRequest request) const {
    if (!request.authorization.empty() || request.cookie.empty()) return request;
    const auto found = logins_.find(hash_token(cookie_value(request.cookie)));
    const bool valid = found != logins_.end() && clock_.wall() < found->second.expires;
    if (valid) request.authorization = found->second.authorization;
    return request;
}

HttpResponse PageLogin::log_in(const HttpRequest& request) {
    const auto caller = gatekeeper_.admit(presented_by(request), {kLoginPage, request.peer});
    if (!caller) return error_response(caller.error());
    forget_expired();
    if (logins_.size() >= kMaxLogins) {
        return error_response(make_error(ErrorCode::resource_exhausted,
                                         "{} browsers are logged in, the most possible; log one "
                                         "out",
                                         logins_.size()));
    }
    const std::string value = make_token();
    logins_[hash_token(value)] = {request.authorization, clock_.wall() + kLifetime};
    return set_cookie(request, value, kLifetime);
}

HttpResponse PageLogin::log_out(const HttpRequest& request) {
    logins_.erase(hash_token(cookie_value(request.cookie)));
    return set_cookie(request, "", {});
}

void PageLogin::forget_expired() {
    const WallTime now = clock_.wall();
    std::erase_if(logins_, [&](const auto& entry) { return entry.second.expires <= now; });
}

}  // namespace rm
