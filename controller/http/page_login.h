#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "service/http/http_server.h"
#include "service/security/gatekeeper.h"

namespace rm {

// Lets a browser present a token without any script that could read it: a page shows the token once
// and gets a cookie, HttpOnly and SameSite=Strict, whose random value stands for the token until
// the browser logs out, kLifetime has passed or this controller ends. Each later request passes
// the gatekeeper with the token itself, so a withdrawn token ends its logins, too. Not thread
// safe: it belongs to the HTTP server's thread.
//   POST /api/v1/login   with Authorization: Bearer TOKEN and X-Ringmaster
//   POST /api/v1/logout  with X-Ringmaster
class PageLogin {
public:
    PageLogin(const Gatekeeper& gatekeeper, const Clock& clock)
        : gatekeeper_(gatekeeper), clock_(clock) {}

    // Nothing: another path.
    std::optional<HttpResponse> handle(const HttpRequest& request);
    // The credential of the request's cookie in its Authorization, unless it has one.
    HttpRequest with_credential(HttpRequest request) const;

    static constexpr Seconds kLifetime{12 * 3600};

private:
    struct Login {
        std::string authorization;
        WallTime expires;
    };

    HttpResponse log_in(const HttpRequest& request);
    HttpResponse log_out(const HttpRequest& request);
    void forget_expired();

    const Gatekeeper& gatekeeper_;
    const Clock& clock_;
    std::map<std::string, Login> logins_;  // by the hash of the cookie's value
};

}  // namespace rm
