#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "service/http/http_server.h"
#include "service/security/authenticator.h"

namespace rm {

// The address of a worker's /metrics and its readers. Strings are paths; empty: none.
struct MetricsOptions {
    std::string address = "127.0.0.1:7072";  // host:port, on loopback without TLS; or none
    std::string tls_cert;
    std::string tls_key;
    AuthenticatorFiles scrapers;  // over TLS: viewers, by certificate or token

    bool is_tls() const { return !tls_cert.empty(); }
};

// GET /metrics: open to all on loopback, over TLS to viewers only. 401 and 403 say why not.
HttpResponse answer_scrape(const HttpRequest& request, const Authenticator& scrapers, WallTime now,
                           const std::function<HttpResponse()>& metrics);

// Null if the options want no server. Calls `metrics` on the server's thread.
Result<std::unique_ptr<HttpServer>> serve_metrics(const MetricsOptions& options,
                                                  std::function<HttpResponse()> metrics);

// The address for other machines: prefixed with https:// over TLS, and with the host name when the
// server listens on every address.
std::string advertised(const std::string& bound, const MetricsOptions& options);

}  // namespace rm
