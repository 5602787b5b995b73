#include "worker/daemon/metrics_page.h"

#include "service/security/pki.h"
#include "worker/inventory/inventory.h"

namespace rm {
namespace {

Status check_scraper(const HttpRequest& request, const Authenticator& scrapers, WallTime now) {
    if (!request.over_tls) return {};
    RM_TRY(
        const Principal caller,
        scrapers.identify({CallTransport::tls, request.certificate, request.authorization}, now));
    if (includes(caller.role, Role::viewer)) return {};
    return make_error(ErrorCode::permission_denied,
                      "/metrics needs the role viewer; '{}' has the role {}", caller.name,
                      to_string(caller.role));
}

}  // namespace

HttpResponse answer_scrape(const HttpRequest& request, const Authenticator& scrapers, WallTime now,
                           const std::function<HttpResponse()>& metrics) {
    if (request.path != "/metrics") return {.status = 404, .body = "this worker serves /metrics\n"};
    const Status allowed = check_scraper(request, scrapers, now);
    if (allowed) return metrics();
    const bool known = allowed.error().code == ErrorCode::permission_denied;
    return {.status = known ? 403 : 401, .body = allowed.error().message + "\n"};
}

Result<std::unique_ptr<HttpServer>> serve_metrics(const MetricsOptions& options,
                                                  std::function<HttpResponse()> metrics) {
    if (options.address == "none") return std::unique_ptr<HttpServer>();
    std::optional<KeyPair> tls;
    if (options.is_tls()) {
        RM_TRY(tls, read_key_pair(options.tls_cert, options.tls_key));
    }
    RM_TRY(auto opened, Authenticator::open(options.scrapers));
    // A handler is copied, so its copies own the authenticator together.
    const std::shared_ptr<const Authenticator> scrapers = std::move(opened);
    return HttpServer::start(
        options.address,
        [scrapers, metrics = std::move(metrics)](const HttpRequest& request) {
            return answer_scrape(request, *scrapers, SystemClock().wall(), metrics);
        },
        {}, tls);
}

std::string advertised(const std::string& bound, const MetricsOptions& options) {
    const bool everywhere = bound.starts_with("0.0.0.0:") || bound.starts_with("[::]:");
    const std::string port = bound.substr(bound.rfind(':'));
    return (options.is_tls() ? "https://" : "") + (everywhere ? machine_hostname() + port : bound);
}

}  // namespace rm
