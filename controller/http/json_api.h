#pragma once

#include <optional>
#include <string>

#include "controller/ops/context.h"
#include "service/http/http_server.h"
#include "service/security/gatekeeper.h"

namespace rm {

// The operations as JSON over HTTP: the messages of ringmaster/v1 by protobuf's rules (names in
// camelCase, 64-bit integers as strings), each call under the name and the role of its method on
// gRPC. An error is {"code": <gRPC's number>, "message": ...} with the HTTP status for that
// code.
//   GET  /api/v1/jobs?page_token=T   JobService/List, ended ones too
//   POST /api/v1/jobs                JobService/Submit, a SubmitRequest
//   GET  /api/v1/jobs/ID             JobService/Get
//   POST /api/v1/jobs/ID:cancel      JobService/Cancel, nothing or {"now": true}
//   GET  /api/v1/history?name=N&state=failed&page_token=T    JobService/History
//   GET  /api/v1/nodes?page_token=T  NodeService/List
//   GET  /api/v1/nodes/ID            NodeService/Get
class JsonApi {
public:
    JsonApi(OpsContext& ops, const Gatekeeper& gatekeeper) : ops_(ops), gatekeeper_(gatekeeper) {}

    // Nothing: not a path of this API.
    std::optional<HttpResponse> handle(const HttpRequest& request);

private:
    OpsContext& ops_;
    const Gatekeeper& gatekeeper_;
};

HttpResponse error_response(const Error& error);
Presented presented_by(const HttpRequest& request);

}  // namespace rm
