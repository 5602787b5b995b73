#pragma once

#include <string>

#include "controller/http/fleet_metrics.h"
#include "controller/ops/context.h"
#include "service/http_server.h"

namespace rm {

// /metrics, /api/v1/sd (Prometheus http_sd: this controller and every worker with a session),
// /api/v1/jobs, /api/v1/nodes (JSON of the messages of List). GET only.
class HttpRoutes {
public:
    HttpRoutes(OpsContext& ops, FleetMetrics& metrics) : ops_(ops), metrics_(metrics) {}

    // Where this controller's own /metrics is; known once the server has bound its port.
    void set_address(std::string address) { address_ = std::move(address); }
    HttpResponse handle(const HttpRequest& request);

private:
    HttpResponse metrics();
    HttpResponse service_discovery() const;
    HttpResponse jobs();
    HttpResponse nodes();

    OpsContext& ops_;
    FleetMetrics& metrics_;
    std::string address_;
};

}  // namespace rm
