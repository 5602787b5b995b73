#pragma once

#include <string>

#include "controller/http/controller_metrics.h"
#include "controller/http/json_api.h"
#include "controller/ops/context.h"
#include "service/http/http_server.h"
#include "service/security/gatekeeper.h"

namespace rm {

enum class MetricsAccess { as_a_viewer, open_on_loopback };

// /metrics, /api/v1/sd (Prometheus http_sd: this controller and every worker with a session), and
// the JSON API. Every path asks the gatekeeper; an option opens the first two to callers on this
// machine.
class HttpRoutes {
public:
    HttpRoutes(const MetricSources& metrics, const Gatekeeper& gatekeeper, MetricsAccess access)
        : ops_(metrics.ops), metrics_(metrics), gatekeeper_(gatekeeper), access_(access) {}

    // Sets the address of this controller's own /metrics, known once the server has bound its port.
    void set_address(std::string address) { address_ = std::move(address); }
    HttpResponse handle(const HttpRequest& request);

private:
    HttpResponse page(const HttpRequest& request);
    bool is_open_to(const HttpRequest& request) const;
    HttpResponse metrics() const;
    HttpResponse service_discovery(const HttpRequest& request) const;

    OpsContext& ops_;
    const MetricSources metrics_;
    const Gatekeeper& gatekeeper_;
    const MetricsAccess access_;
    JsonApi api_{ops_, gatekeeper_};
    std::string address_;
};

}  // namespace rm
