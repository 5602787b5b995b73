#include "controller/http/routes.h"

#include "controller/access.h"
#include "controller/core/event.h"
#include "service/address.h"

namespace rm {
namespace {

void append_target(std::string& out, const std::string& address, const char* role) {
    out += out.size() > 1 ? ",{\"targets\":[" : "{\"targets\":[";
    append_json_string(out, address);
    out += "],\"labels\":{\"role\":";
    append_json_string(out, role);
    out += "}}";
}

}  // namespace

HttpResponse HttpRoutes::handle(const HttpRequest& request) {
    if (request.path == kMetricsPage || request.path == kDiscoveryPage) return page(request);
    if (auto answered = api_.handle(request)) return *std::move(answered);
    return {.status = 404,
            .body = "there is no " + request.path +
                    "; there are /metrics, /api/v1/sd, /api/v1/jobs, /api/v1/history, "
                    "/api/v1/nodes\n"};
}

HttpResponse HttpRoutes::page(const HttpRequest& request) {
    if (request.method != "GET") {
        return {.status = 405, .body = request.method + " is not allowed here; only GET\n"};
    }
    if (!is_open_to(request)) {
        const auto caller = gatekeeper_.admit(presented_by(request), {request.path, request.peer});
        if (!caller) return error_response(caller.error());
    }
    return request.path == kMetricsPage ? metrics() : service_discovery();
}

bool HttpRoutes::is_open_to(const HttpRequest& request) const {
    return access_ == MetricsAccess::open_on_loopback && parse_loopback(request.peer).ok();
}

HttpResponse HttpRoutes::metrics() {
    ops_.control.read([&](const State& state) { metrics_.update(state, ops_.clock.wall()); });
    return {.content_type = "text/plain; version=0.0.4", .body = metrics_.expose()};
}

HttpResponse HttpRoutes::service_discovery() const {
    std::string body = "[";
    if (!address_.empty()) append_target(body, address_, "controller");
    ops_.control.read([&](const State& state) {
        for (const auto& [id, node] : state.nodes) {
            const std::string& address = node.inventory.http_address;
            if (node.session.up && !address.empty()) append_target(body, address, "worker");
        }
    });
    return {.content_type = "application/json", .body = body + "]"};
}

}  // namespace rm
