#pragma once

#include <string>

#include "controller/http/json_api.h"
#include "controller/http/live_feed.h"
#include "controller/http/metrics/controller_metrics.h"
#include "controller/http/page_login.h"
#include "controller/ops/context.h"
#include "service/http/http_server.h"
#include "service/security/gatekeeper.h"

namespace rm {

enum class MetricsAccess { as_a_viewer, open_on_loopback };

// /metrics, /api/v1/sd (Prometheus http_sd: this controller and every worker with a session), the
// JSON API, /api/v1/stream (LiveFeed) and the built-in page. Every path but the files of the page
// asks the gatekeeper; an option opens the first two to callers on this machine.
class HttpRoutes {
public:
    HttpRoutes(const MetricSources& metrics, const ApiSurveys& surveys,
               const Gatekeeper& gatekeeper, MetricsAccess access)
        : ops_(metrics.ops),
          metrics_(metrics),
          surveys_(surveys),
          gatekeeper_(gatekeeper),
          access_(access) {}

    // Sets the address of this controller's own /metrics, known once the server has bound its port.
    void set_address(std::string address) { address_ = std::move(address); }
    HttpResponse handle(const HttpRequest& request);

private:
    HttpResponse answer(const HttpRequest& request);
    HttpResponse page(const HttpRequest& request);
    HttpResponse stream(const HttpRequest& request);
    bool is_open_to(const HttpRequest& request) const;
    HttpResponse metrics() const;
    HttpResponse service_discovery(const HttpRequest& request) const;

    OpsContext& ops_;
    const MetricSources metrics_;
    const ApiSurveys surveys_;
    const Gatekeeper& gatekeeper_;
    const MetricsAccess access_;
    JsonApi api_{ops_, surveys_, gatekeeper_};
    PageLogin login_{gatekeeper_, ops_.clock};
    std::string address_;
    LiveFeed live_{ops_, format("{:016x}", ops_.random())};
};

}  // namespace rm
