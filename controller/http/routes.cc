#include "controller/http/routes.h"

#include "controller/access.h"
#include "controller/core/event.h"
#include "controller/http/static_page.h"
#include "service/address.h"

namespace rm {
namespace {

constexpr std::string_view kHttps = "https://";

// `address` is host:port, https:// before it over TLS.
void append_target(std::string& out, std::string_view address, const char* role) {
    const bool tls = address.starts_with(kHttps);
    if (tls) address.remove_prefix(kHttps.size());
    out += out.size() > 1 ? ",{\"targets\":[" : "{\"targets\":[";
    append_json_string(out, std::string(address));
    out += "],\"labels\":{\"role\":";
    append_json_string(out, role);
    if (tls) out += ",\"__scheme__\":\"https\"";
    out += "}}";
}

bool is_everywhere(const std::string& address) {
    return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

}  // namespace

HttpResponse HttpRoutes::handle(const HttpRequest& request) {
    return answer(login_.with_credential(request));
}

HttpResponse HttpRoutes::answer(const HttpRequest& request) {
    if (request.path == kMetricsPage || request.path == kDiscoveryPage) return page(request);
    if (request.path == kStreamPage) return stream(request);
    if (auto answered = login_.handle(request)) return *std::move(answered);
    if (auto answered = api_.handle(request)) return *std::move(answered);
    if (auto answered = static_page(request, page_files())) return *std::move(answered);
    return {.status = 404,
            .body = "there is no " + request.path +
                    "; there are /, /metrics, /api/v1/sd, /api/v1/stream, /api/v1/jobs, "
                    "/api/v1/history, /api/v1/nodes, /api/v1/links\n"};
}

HttpResponse HttpRoutes::stream(const HttpRequest& request) {
    if (request.method != "GET") {
        return {.status = 405, .body = request.method + " is not allowed here; only GET\n"};
    }
    const auto caller = gatekeeper_.admit(presented_by(request), {kStreamPage, request.peer});
    if (!caller) return error_response(caller.error());
    return {.content_type = "text/event-stream", .feed = &live_.feed()};
}

HttpResponse HttpRoutes::page(const HttpRequest& request) {
    if (request.method != "GET") {
        return {.status = 405, .body = request.method + " is not allowed here; only GET\n"};
    }
    if (!is_open_to(request)) {
        const auto caller = gatekeeper_.admit(presented_by(request), {request.path, request.peer});
        if (!caller) return error_response(caller.error());
    }
    return request.path == kMetricsPage ? metrics() : service_discovery(request);
}

bool HttpRoutes::is_open_to(const HttpRequest& request) const {
    return access_ == MetricsAccess::open_on_loopback && parse_loopback(request.peer).ok();
}

HttpResponse HttpRoutes::metrics() const {
    return {.content_type = "text/plain; version=0.0.4", .body = controller_metrics(metrics_)};
}

HttpResponse HttpRoutes::service_discovery(const HttpRequest& request) const {
    std::string body = "[";
    // When listening on all interfaces, report the address the caller used.
    const std::string& own = is_everywhere(address_) ? request.host : address_;
    const std::string_view scheme = request.over_tls ? kHttps : "";
    if (!own.empty()) append_target(body, format("{}{}", scheme, own), "controller");
    ops_.control.read([&](const State& state) {
        for (const auto& [id, node] : state.nodes) {
            const std::string& address = node.inventory.http_address;
            if (node.session.up && !address.empty()) append_target(body, address, "worker");
        }
    });
    return {.content_type = "application/json", .body = body + "]"};
}

}  // namespace rm
