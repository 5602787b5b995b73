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
constexpr std::size_t kLogBytes = 256 * 1024;

// The arguments of an operation.
struct ApiCall {
    OpsContext& ops;
    const ApiSurveys& surveys;
    const HttpRequest& request;
    const Principal& caller;
    std::string id;  // of the path; empty: none
};

struct ApiAnswer {
    std::string json;
    std::string subject;  // the job or node that a change is about
};

using Operation = Result<ApiAnswer> (*)(const ApiCall&);

enum class Takes {
    moments,
    seconds,
    seconds_for_all  // every caller gets the same answer: it is kept for a while
};

// A kind of path: /api/v1/<collection>, with or without an id and more after it.
struct Route {
    std::string_view http_method;
    std::string_view collection;
    bool has_id = false;
    std::string_view tail;    // ":verb" or "/part"
    std::string_view method;  // as on gRPC
    Operation run = nullptr;
    Takes takes = Takes::moments;
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
    RM_TRY(std::string body, json_text(message));
    return ApiAnswer{std::move(body), std::move(subject)};
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

// A number in the query; 0 if absent.
template <typename Number>
Result<Number> query_number(const ApiCall& call, std::string_view name) {
    const std::string text = query_value(call.request.query, name);
    if (text.empty()) return Number{};
    if (const auto number = parse_number<Number>(text)) return *number;
    return invalid_argument("{}={} is not a whole number", name, text);
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
    request.set_include_ended(query_value(call.request.query, "ended") != "no");
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

Result<ApiAnswer> api_explain_job(const ApiCall& call) {
    pb::ExplainJobRequest request;
    request.set_job_id(call.id);
    return answer(explain_job(call.ops, request));
}

// The kept log from `offset` on, or its last `tail` lines, as {"pieces": [LogPiece]}. A reply ends
// with the piece that reaches kLogBytes; the next offset is that of its end.
Result<ApiAnswer> api_logs(const ApiCall& call) {
    pb::LogsRequest request;
    request.set_job_id(call.id);
    RM_TRY(const auto rank, query_number<std::int32_t>(call, "rank"));
    RM_TRY(const auto epoch, query_number<std::int64_t>(call, "attempt"));
    RM_TRY(const auto offset, query_number<std::int64_t>(call, "offset"));
    RM_TRY(const auto tail, query_number<std::int64_t>(call, "tail"));
    request.set_rank(rank);
    request.set_epoch(epoch);
    request.set_offset(offset);
    request.set_tail_lines(tail);
    std::string pieces;
    const auto keep = [&](const pb::LogPiece& piece) {
        pieces += (pieces.empty() ? "" : ",") + json_text(piece).value();
        return pieces.size() < kLogBytes;
    };
    const Status read = read_logs(call.ops, request, {[] { return false; }}, keep);
    if (!read && read.error().code != ErrorCode::cancelled) return read.error();
    return ApiAnswer{"{\"pieces\":[" + pieces + "]}", ""};
}

// quantity=loss,causal_mfu&rank=0,3 (or all)&max_points=2000&from=&to=&page_token=
Result<ApiAnswer> api_steps(const ApiCall& call) {
    pb::StepsRequest request;
    request.set_job_id(call.id);
    const std::string quantities = query_value(call.request.query, "quantity");
    const std::string ranks = query_value(call.request.query, "rank");
    for (const std::string_view name : split(quantities, ','))
        if (!name.empty()) request.add_quantities(std::string(name));
    request.set_all_ranks(ranks == "all");
    for (const std::string_view text : split(ranks, ',')) {
        if (ranks == "all" || text.empty()) continue;
        const auto rank = parse_number<std::int32_t>(text);
        if (!rank) return invalid_argument("rank '{}' is no number, nor all", text);
        request.add_ranks(*rank);
    }
    RM_TRY(const auto max_points, query_number<std::int32_t>(call, "max_points"));
    RM_TRY(const auto from, query_number<std::int64_t>(call, "from"));
    RM_TRY(const auto to, query_number<std::int64_t>(call, "to"));
    request.set_max_points(max_points);
    request.set_from_step(from);
    request.set_to_step(to);
    request.set_page_token(query_value(call.request.query, "page_token"));
    return answer(steps(call.ops, request));
}

Result<ApiAnswer> api_placement(const ApiCall& call) {
    pb::PlacementRequest request;
    request.set_job_id(call.id);
    RM_TRY(const auto attempt, query_number<std::int64_t>(call, "attempt"));
    request.set_attempt(attempt);
    return answer(get_placement(call.ops, call.surveys.loop, request));
}

Result<ApiAnswer> api_plan_detail(const ApiCall& call) {
    pb::PlanDetailRequest request;
    request.set_job_id(call.id);
    RM_TRY(const auto attempt, query_number<std::int64_t>(call, "attempt"));
    request.set_attempt(attempt);
    return answer(plan_detail(call.ops, request));
}

Result<ApiAnswer> api_top(const ApiCall& call) {
    pb::TopRequest request;
    request.set_job_id(query_value(call.request.query, "job"));
    pb::TopReply reply;
    const auto keep = [&](const pb::TopReply& once) {
        reply = once;
        return true;
    };
    RM_RETURN_IF_ERROR(watch_top(call.ops, request, {[] { return false; }}, keep));
    return answer(reply);
}

Result<ApiAnswer> api_links(const ApiCall& call) {
    pb::LinksRequest request;
    request.set_page_token(query_value(call.request.query, "page_token"));
    return answer(list_links(call.ops, call.surveys.loop, request));
}

Result<ApiAnswer> api_link_history(const ApiCall& call) {
    pb::LinkHistoryRequest request;
    request.set_from(query_value(call.request.query, "from"));
    request.set_to(query_value(call.request.query, "to"));
    RM_TRY(const auto limit, query_number<std::int32_t>(call, "limit"));
    request.set_limit(limit);
    return answer(link_history(call.ops, call.surveys.store, request));
}

constexpr std::array kRoutes = {
    Route{"GET", "jobs", false, "", "/ringmaster.v1.JobService/List", api_list_jobs},
    Route{"POST", "jobs", false, "", "/ringmaster.v1.JobService/Submit", api_submit_job,
          Takes::seconds},
    Route{"GET", "jobs", true, "", "/ringmaster.v1.JobService/Get", api_get_job},
    Route{"POST", "jobs", true, kCancel, "/ringmaster.v1.JobService/Cancel", api_cancel_job},
    Route{"GET", "jobs", true, "/explain", "/ringmaster.v1.JobService/Explain", api_explain_job,
          Takes::seconds_for_all},
    Route{"GET", "jobs", true, "/logs", "/ringmaster.v1.JobService/Logs", api_logs},
    Route{"GET", "jobs", true, "/placement", "/ringmaster.v1.TopologyService/Placement",
          api_placement},
    Route{"GET", "jobs", true, "/plan", "/ringmaster.v1.JobService/PlanDetail", api_plan_detail,
          Takes::seconds_for_all},
    Route{"GET", "jobs", true, "/steps", "/ringmaster.v1.JobService/Steps", api_steps,
          Takes::seconds_for_all},
    Route{"GET", "top", false, "", "/ringmaster.v1.JobService/Top", api_top},
    Route{"GET", "links", false, "", "/ringmaster.v1.TopologyService/Links", api_links},
    Route{"GET", "link_history", false, "", "/ringmaster.v1.TopologyService/LinkHistory",
          api_link_history},
    Route{"GET", "history", false, "", "/ringmaster.v1.JobService/History", api_history},
    Route{"GET", "nodes", false, "", "/ringmaster.v1.NodeService/List", api_list_nodes},
    Route{"GET", "nodes", true, "", "/ringmaster.v1.NodeService/Get", api_get_node},
};

// A path below /api/v1/, taken apart.
struct Place {
    std::string_view collection;
    bool has_id = false;
    std::string_view id;
    std::string_view tail;
};

Place place_of(std::string_view path) {
    path.remove_prefix(kPrefix.size());
    const auto slash = path.find('/');
    Place place{.collection = path.substr(0, slash), .has_id = slash != path.npos};
    if (!place.has_id) return place;
    place.id = path.substr(slash + 1);
    const auto end = std::min(place.id.find_first_of(":/"), place.id.size());
    place.tail = place.id.substr(end);
    place.id = place.id.substr(0, end);
    return place;
}

bool is_at(const Route& route, const Place& place) {
    return route.collection == place.collection && route.has_id == place.has_id &&
           route.tail == place.tail;
}

// A curve of rank 0 is continued with the steps that follow: it must not end before they begin. A
// grid of all ranks shows hours in a column where it takes seconds to make.
Seconds longest_kept(const HttpRequest& request) {
    if (!request.path.ends_with("/steps")) return Seconds{30};
    return query_value(request.query, "rank") == "all" ? Seconds{300} : Seconds{1};
}

const Route* find_route(const Place& place, std::string_view http_method) {
    const auto found = std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) {
        return is_at(route, place) && route.http_method == http_method;
    });
    return found == kRoutes.end() ? nullptr : &*found;
}

}  // namespace

Result<std::string> json_text(const Message& message) {
    std::string text;
    const auto status = google::protobuf::util::MessageToJsonString(message, &text);
    if (status.ok()) return text;
    return make_error(ErrorCode::internal, "the reply cannot be written as JSON: {}",
                      status.ToString());
}

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
    const Stopwatch since_begin;
    const auto caller =
        gatekeeper_.admit(presented_by(request), {route->method, request.peer, {}, since_begin});
    if (!caller) return error_response(caller.error());
    const auto respond = [this, route, since_begin, request, caller = *caller,
                          id = std::string(place.id)] {
        Status status;
        std::string subject = decoded(id);
        const auto make = [&] {
            const auto result = route->run({ops_, surveys_, request, caller, subject});
            if (!result) {
                status = result.error();
                return error_response(result.error());
            }
            subject = result->subject;
            return HttpResponse{.content_type = "application/json", .body = result->json};
        };
        HttpResponse response =
            route->takes == Takes::seconds_for_all
                ? kept_.get(request.path + "?" + request.query, longest_kept(request), make)
                : make();
        gatekeeper_.ended(presented_by(request), {route->method, request.peer, {}, since_begin},
                          subject, status);
        return response;
    };
    if (route->takes == Takes::moments) return respond();
    HttpResponse response;
    response.later = respond;
    return response;
}

}  // namespace rm
