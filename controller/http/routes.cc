#include "controller/http/routes.h"

#include <google/protobuf/util/json_util.h>

#include "controller/core/event.h"
#include "controller/ops/ops.h"

namespace rm {
namespace {

constexpr int kPage = 1000;

HttpResponse json(std::string body) {
    return {.status = 200, .content_type = "application/json", .body = std::move(body)};
}

HttpResponse json_of(const google::protobuf::Message& message) {
    std::string body;
    const auto status = google::protobuf::util::MessageToJsonString(message, &body);
    if (!status.ok()) return {.status = 500, .body = status.ToString() + "\n"};
    return json(std::move(body));
}

HttpResponse failure(const Error& error) {
    return {.status = 500, .body = error.message + "\n"};
}

void append_target(std::string& out, const std::string& address, const char* role) {
    out += out.size() > 1 ? ",{\"targets\":[" : "{\"targets\":[";
    append_json_string(out, address);
    out += "],\"labels\":{\"role\":";
    append_json_string(out, role);
    out += "}}";
}

}  // namespace

HttpResponse HttpRoutes::handle(const HttpRequest& request) {
    if (request.method != "GET") {
        return {.status = 405, .body = request.method + " is not allowed here; only GET\n"};
    }
    if (request.path == "/metrics") return metrics();
    if (request.path == "/api/v1/sd") return service_discovery();
    if (request.path == "/api/v1/jobs") return jobs();
    if (request.path == "/api/v1/nodes") return nodes();
    return {.status = 404,
            .body = "there is no " + request.path +
                    "; there are /metrics, /api/v1/sd, /api/v1/jobs, /api/v1/nodes\n"};
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
    return json(body + "]");
}

HttpResponse HttpRoutes::jobs() {
    pb::ListJobsRequest request;
    request.set_page_size(kPage);
    request.set_include_ended(true);
    const auto reply = list_jobs(ops_, request);
    return reply ? json_of(*reply) : failure(reply.error());
}

HttpResponse HttpRoutes::nodes() {
    pb::ListNodesRequest request;
    request.set_page_size(kPage);
    const auto reply = list_nodes(ops_, request);
    return reply ? json_of(*reply) : failure(reply.error());
}

}  // namespace rm
