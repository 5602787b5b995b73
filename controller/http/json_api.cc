#include "controller/http/json_api.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "controller/core/event.h"
#include "controller/ops/ops.h"

namespace rm {
namespace {

using google::protobuf::Message;

constexpr int kPage = 1000;
constexpr std::string_view kPrefix = "/api/v1/";
constexpr std::string_view kCancel = ":cancel";

// The arguments of an operation.
struct ApiCall {
    OpsContext& ops;
    const HttpRequest& request;
    const Principal& caller;
    std::string id;  // of the path; empty: none
};

struct ApiAnswer {
    std::string json;
    std::string subject;  // the job or node that a change is about
};

using Operation = Result<ApiAnswer> (*)(const ApiCall&);

// A kind of path: /api/v1/<collection>, with or without an id and a verb after it.
struct Route {
    std::string_view http_method;
    std::string_view collection;
    bool has_id = false;
    std::string_view verb;
    std::string_view method;  // as on gRPC
    Operation run = nullptr;
};

int http_status(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid_argument:
        case ErrorCode::failed_precondition:
        case ErrorCode::out_of_range:
            return 400;
        case ErrorCode::unauthenticated:
            return 401;
        case ErrorCode::permission_denied:
            return 403;
        case ErrorCode::not_found:
            return 404;
        case ErrorCode::aborted:
        case ErrorCode::already_exists:
            return 409;
        case ErrorCode::resource_exhausted:
            return 429;
        case ErrorCode::unimplemented:
            return 501;
        case ErrorCode::unavailable:
            return 503;
        case ErrorCode::deadline_exceeded:
            return 504;
        case ErrorCode::cancelled:
        case ErrorCode::unknown:
        case ErrorCode::internal:
        case ErrorCode::data_loss:
            return 500;
    }
    return 500;
}

Result<ApiAnswer> answer(const Message& message, std::string subject = "") {
    std::string body;
    const auto status = google::protobuf::util::MessageToJsonString(message, &body);
    if (status.ok()) return ApiAnswer{std::move(body), std::move(subject)};
    return make_error(ErrorCode::internal, "the reply cannot be written as JSON: {}",
                      status.ToString());
}

template <typename T>
Result<ApiAnswer> answer(const Result<T>& result, std::string subject = "") {
    if (!result) return result.error();
    return answer(*result, std::move(subject));
}

// An empty body is an empty message.
Status parse_body(const std::string& body, Message& message) {
    if (body.empty()) return {};
    const auto status = google::protobuf::util::JsonStringToMessage(body, &message);
    if (status.ok()) return {};
    return invalid_argument("the body is not a {} as JSON: {}", message.GetDescriptor()->name(),
                            std::string(status.message()));
}

// Decodes %41 and + as in forms; other text stays as it is.
std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned byte = 0;
        const char* digits = text.data() + i + 1;
        const bool escaped = text[i] == '%' && i + 2 < text.size() &&
                             std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
        if (escaped) i += 2;
        out += escaped ? static_cast<char>(byte) : text[i] == '+' ? ' ' : text[i];
    }
    return out;
}

// The value of `name` in a=b&c=d; empty if absent.
std::string query_value(std::string_view query, std::string_view name) {
    for (const std::string_view item : split(query, '&')) {
        const bool found = item.starts_with(name) && item.substr(name.size()).starts_with('=');
        if (found) return decoded(item.substr(name.size() + 1));
    }
    return "";
}

// The request for the page that the query names.
template <typename Request>
Request page_request(const ApiCall& call) {
    Request request;
    request.set_page_size(kPage);
    request.set_page_token(query_value(call.request.query, "page_token"));
    return request;
}

Result<ApiAnswer> api_list_jobs(const ApiCall& call) {
    auto request = page_request<pb::ListJobsRequest>(call);
    request.set_include_ended(true);
    return answer(list_jobs(call.ops, request));
}

Result<ApiAnswer> api_get_job(const ApiCall& call) {
    pb::GetJobRequest request;
    request.set_job_id(call.id);
    return answer(get_job(call.ops, request));
}

Result<ApiAnswer> api_submit_job(const ApiCall& call) {
    pb::SubmitRequest request;
    RM_RETURN_IF_ERROR(parse_body(call.request.body, request));
    RM_TRY(const pb::SubmitReply reply, submit_job(call.ops, request, call.caller));
    return answer(reply, reply.job_id());
}

Result<ApiAnswer> api_cancel_job(const ApiCall& call) {
    pb::CancelJobRequest request;
    RM_RETURN_IF_ERROR(parse_body(call.request.body, request));
    request.set_job_id(call.id);
    RM_TRY(const pb::Job job, cancel_job(call.ops, request, call.caller));
    return answer(job, job.id());
}

Result<ApiAnswer> api_history(const ApiCall& call) {
    auto request = page_request<pb::HistoryRequest>(call);
    request.set_name(query_value(call.request.query, "name"));
    request.set_owner(query_value(call.request.query, "user"));
    request.set_model(query_value(call.request.query, "model"));
    const std::string state = query_value(call.request.query, "state");
    std::string constant = "JOB_STATE_" + state;
    std::transform(constant.begin(), constant.end(), constant.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    pb::JobState wanted = pb::JOB_STATE_UNSPECIFIED;
    if (!state.empty() && !pb::JobState_Parse(constant, &wanted)) {
        return invalid_argument("state '{}' is not one of a job, as in state=failed", state);
    }
    request.set_state(wanted);
    return answer(history(call.ops, request));
}

Result<ApiAnswer> api_list_nodes(const ApiCall& call) {
    return answer(list_nodes(call.ops, page_request<pb::ListNodesRequest>(call)));
}

Result<ApiAnswer> api_get_node(const ApiCall& call) {
    pb::GetNodeRequest request;
    request.set_node_id(call.id);
    return answer(get_node(call.ops, request));
}

constexpr std::array kRoutes = {
    Route{"GET", "jobs", false, "", "/ringmaster.v1.JobService/List", api_list_jobs},
    Route{"POST", "jobs", false, "", "/ringmaster.v1.JobService/Submit", api_submit_job},
    Route{"GET", "jobs", true, "", "/ringmaster.v1.JobService/Get", api_get_job},
    Route{"POST", "jobs", true, kCancel, "/ringmaster.v1.JobService/Cancel", api_cancel_job},
    Route{"GET", "history", false, "", "/ringmaster.v1.JobService/History", api_history},
    Route{"GET", "nodes", false, "", "/ringmaster.v1.NodeService/List", api_list_nodes},
    Route{"GET", "nodes", true, "", "/ringmaster.v1.NodeService/Get", api_get_node},
};

// A path below /api/v1/, taken apart.
struct Place {
    std::string_view collection;
    bool has_id = false;
    std::string_view id;
    std::string_view verb;
};

Place place_of(std::string_view path) {
    path.remove_prefix(kPrefix.size());
    const auto slash = path.find('/');
    Place place{.collection = path.substr(0, slash), .has_id = slash != path.npos};
    if (!place.has_id) return place;
    place.id = path.substr(slash + 1);
    const auto colon = std::min(place.id.find(':'), place.id.size());
    place.verb = place.id.substr(colon);
    place.id = place.id.substr(0, colon);
    return place;
}

bool is_at(const Route& route, const Place& place) {
    return route.collection == place.collection && route.has_id == place.has_id &&
           route.verb == place.verb;
}

const Route* find_route(const Place& place, std::string_view http_method) {
    const auto found = std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) {
        return is_at(route, place) && route.http_method == http_method;
    });
    return found == kRoutes.end() ? nullptr : &*found;
}

}  // namespace

HttpResponse error_response(const Error& error) {
    std::string body = format("{{\"code\":{},\"message\":", static_cast<int>(error.code));
    append_json_string(body, error.message);
    return {.status = http_status(error.code),
            .content_type = "application/json",
            .body = body + "}\n"};
}

Presented presented_by(const HttpRequest& request) {
    return {request.over_tls ? CallTransport::tls : CallTransport::loopback, request.certificate,
            request.authorization};
}

std::optional<HttpResponse> JsonApi::handle(const HttpRequest& request) {
    if (!request.path.starts_with(kPrefix)) return std::nullopt;
    const Place place = place_of(request.path);
    const Route* route = find_route(place, request.method);
    if (route == nullptr) {
        const bool other_method = find_route(place, request.method == "GET" ? "POST" : "GET");
        if (!other_method) return std::nullopt;
        return HttpResponse{.status = 405, .body = request.method + " is not allowed here\n"};
    }
    // A page from elsewhere may let a browser send its user's credentials, but not this header.
    if (request.method == "POST" && !request.is_marked) {
        return HttpResponse{.status = 403,
                            .body = "without the header X-Ringmaster this API only reads\n"};
    }
    const Presented presented = presented_by(request);
    const CallFacts facts{route->method, request.peer};
    const auto caller = gatekeeper_.admit(presented, facts);
    if (!caller) return error_response(caller.error());
    const auto result = route->run({ops_, request, *caller, decoded(place.id)});
    gatekeeper_.ended(presented, facts, result ? result->subject : std::string(place.id),
                      result ? Status() : Status(result.error()));
    if (!result) return error_response(result.error());
    return HttpResponse{.content_type = "application/json", .body = result->json};
}

}  // namespace rm
