#pragma once

#include <optional>
#include <string>

#include "controller/http/kept_answers.h"
#include "controller/loops/survey_loop.h"
#include "controller/ops/context.h"
#include "service/http/http_server.h"
#include "service/security/gatekeeper.h"

namespace google::protobuf {
class Message;
}

namespace rm {

// The measured links and their history.
struct ApiSurveys {
    const SurveyLoop& loop;
    SurveyStore& store;
};

// The operations as JSON over HTTP: the messages of ringmaster/v1 by protobuf's rules (names in
// camelCase, 64-bit integers as strings), each call under the name and the role of its method on
// gRPC. An error is {"code": <gRPC's number>, "message": ...} with the HTTP status for that
// code.
//   GET  /api/v1/jobs?page_token=T   JobService/List, ended ones too unless ended=no
//   POST /api/v1/jobs                JobService/Submit, a SubmitRequest
//   GET  /api/v1/jobs/ID             JobService/Get
//   POST /api/v1/jobs/ID:cancel      JobService/Cancel, nothing or {"now": true}
//   GET  /api/v1/jobs/ID/explain     JobService/Explain
//   GET  /api/v1/jobs/ID/logs?rank=R&attempt=EPOCH&offset=N&tail=LINES   JobService/Logs, a part
//   GET  /api/v1/jobs/ID/placement?attempt=EPOCH    TopologyService/Placement
//   GET  /api/v1/jobs/ID/plan?attempt=EPOCH         JobService/PlanDetail
//   GET  /api/v1/top?job=ID          JobService/Top, once
//   GET  /api/v1/links?page_token=T  TopologyService/Links
//   GET  /api/v1/link_history?from=A&to=B&limit=N   TopologyService/LinkHistory
//   GET  /api/v1/history?name=N&state=failed&page_token=T    JobService/History
//   GET  /api/v1/nodes?page_token=T  NodeService/List
//   GET  /api/v1/nodes/ID            NodeService/Get
class JsonApi {
public:
    JsonApi(OpsContext& ops, const ApiSurveys& surveys, const Gatekeeper& gatekeeper)
        : ops_(ops), surveys_(surveys), gatekeeper_(gatekeeper), kept_(ops.clock) {}

    // Nothing: not a path of this API.
    std::optional<HttpResponse> handle(const HttpRequest& request);

private:
    OpsContext& ops_;
    const ApiSurveys surveys_;
    const Gatekeeper& gatekeeper_;
    KeptAnswers kept_;
};

Result<std::string> json_text(const google::protobuf::Message& message);
HttpResponse error_response(const Error& error);
Presented presented_by(const HttpRequest& request);

}  // namespace rm
