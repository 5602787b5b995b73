#include "controller/discovery/crusoe_api.h"

#include <algorithm>
#include <set>

#include "base/os/loop.h"
#include "base/text.h"
#include "controller/discovery/crusoe_messages.h"

namespace rm {
namespace {

constexpr const char* kPageSize = "100";
constexpr Seconds kLongestPause{30};

bool is_uuid(std::string_view text) {
    return text.size() == 36 && text.find_first_not_of("0123456789abcdefABCDEF-") == text.npos;
}

// An id of the API, as a part of a path.
std::string segment(const std::string& id) {
    return encode_query({{id, ""}}).substr(0, encode_query({{id, ""}}).size() - 1);
}

ErrorCode code_of(int status) {
    switch (status) {
        case 400:
            return ErrorCode::invalid_argument;
        case 401:
            return ErrorCode::unauthenticated;
        case 403:
            return ErrorCode::permission_denied;
        case 404:
            return ErrorCode::not_found;
        case 409:
            return ErrorCode::already_exists;
        case 429:
            return ErrorCode::resource_exhausted;
        default:
            return status >= 500 ? ErrorCode::unavailable : ErrorCode::failed_precondition;
    }
}

bool may_pass(const HttpAnswer& answer) {
    return answer.status == 429 || answer.status >= 500;
}

// A change that was accepted by an answer that says nothing is in the dark, too.
Result<CloudOperation> accepted(const std::string& body) {
    auto operation = parse_operation(body);
    if (operation) return operation;
    return make_error(ErrorCode::unknown, "{}; Crusoe may have carried it out all the same",
                      operation.error().message);
}

// The pause that the server asks for, within reason.
Seconds pause_before_next(const Result<HttpAnswer>& answer, Seconds usual) {
    const auto asked = answer ? parse_number<double>(answer->retry_after) : std::nullopt;
    return std::clamp(Seconds{asked.value_or(usual.value)}, Seconds{0.01}, kLongestPause);
}

}  // namespace

CrusoeApi::CrusoeApi(CrusoeConfig config, const Clock& clock, CrusoePatience patience,
                     std::stop_token stop)
    : config_(std::move(config)), clock_(clock), patience_(patience), stop_(std::move(stop)) {}

std::string CrusoeApi::without_secrets(std::string text) const {
    for (const std::string& secret : {config_.secret_key.reveal(), config_.access_key_id}) {
        for (std::size_t at = text.find(secret); at != text.npos; at = text.find(secret))
            text.replace(at, secret.size(), "***");
    }
    return text;
}

// A proxy's page has no code of Crusoe's.
Error CrusoeApi::refusal(const HttpAnswer& answer) const {
    const ApiError said = parse_api_error(answer.body);
    std::string text = format("Crusoe answered {}", answer.status);
    if (!said.code.empty()) text += " " + said.code;
    if (!said.message.empty()) text += ": " + said.message;
    if (answer.status == 401)
        text += "; check the access key, and this machine's clock, which is part of the signature";
    return {code_of(answer.status), without_secrets(std::move(text))};
}

Result<OutgoingRequest> CrusoeApi::signed_request(std::string_view verb, std::string_view path,
                                                  const Query& query, std::string body) const {
    const std::string whole = format("{}{}", config_.endpoint.path, path);
    const std::string encoded = encode_query(query);
    const std::string now = to_iso8601(clock_.wall());
    RM_TRY(const std::string signature,
           crusoe_signature(config_.secret_key,
                            {.path = whole, .query = encoded, .verb = verb, .timestamp = now}));
    return OutgoingRequest{
        .method = std::string(verb),
        .target = encoded.empty() ? whole : whole + "?" + encoded,
        .headers = {{"X-Crusoe-Timestamp", now},
                    {"Authorization", format("Bearer 1.0:{}:{}", config_.access_key_id, signature)},
                    {"Accept", "application/json"}},
        .body = std::move(body)};
}

Result<std::string> CrusoeApi::get(std::string_view path, const Query& query) {
    Seconds pause = patience_.first_pause;
    for (int left = patience_.tries;; --left) {
        RM_TRY(const OutgoingRequest request, signed_request("GET", path, query, ""));
        const Result<HttpAnswer> answer =
            send_request(config_.endpoint, request, patience_.request, stop_).answer;
        if (answer && answer->status < 300) return answer->body;
        if (answer && !may_pass(*answer)) return refusal(*answer);
        if (left <= 1 || !sleep_for(pause_before_next(answer, pause), stop_))
            return answer ? refusal(*answer) : answer.error();
        pause.value *= 2;
    }
}

// Sent once: see the class.
Result<std::string> CrusoeApi::change(std::string_view verb, std::string_view path,
                                      std::string body) {
    RM_TRY(const OutgoingRequest request, signed_request(verb, path, {}, std::move(body)));
    const HttpOutcome outcome = send_request(config_.endpoint, request, patience_.request, stop_);
    const Result<HttpAnswer>& answer = outcome.answer;
    if (answer && answer->status < 300) return answer->body;
    const Error why = answer ? refusal(*answer) : answer.error();
    const bool unknown = answer ? answer->status >= 500 : outcome.delivery == Delivery::possible;
    if (!unknown) return why;
    return make_error(ErrorCode::unknown, "{}; Crusoe may have carried it out all the same",
                      why.message);
}

Result<std::string> CrusoeApi::project() {
    if (project_.empty() && is_uuid(config_.project)) project_ = config_.project;
    if (!project_.empty()) return project_;
    Query query;
    if (!config_.project.empty()) query["project_name"] = config_.project;
    RM_TRY(const std::string body, get("/projects", query));
    RM_TRY(project_, parse_project(body, config_.project));
    return project_;
}

Result<std::string> CrusoeApi::vms_path(std::string_view below) {
    RM_TRY(const std::string id, project());
    return format("/projects/{}/compute/vms/{}", segment(id), below);
}

Result<std::vector<Machine>> CrusoeApi::machines() {
    RM_TRY(const std::string path, vms_path("instances"));
    std::vector<Machine> all;
    std::set<std::string> tokens;
    Query query = {{"limit", kPageSize}};
    for (;;) {
        RM_TRY(const std::string body, get(path, query));
        RM_TRY(MachinePage page, parse_machines(body));
        std::move(page.machines.begin(), page.machines.end(), std::back_inserter(all));
        if (page.next_token.empty()) return all;
        if (!tokens.insert(page.next_token).second)
            return data_loss("Crusoe's list of machines leads back to an earlier page");
        query["next_token"] = page.next_token;
    }
}

Result<std::vector<Shape>> CrusoeApi::shapes() {
    RM_TRY(const std::string path, vms_path("types"));
    RM_TRY(const std::string body, get(path, {}));
    return parse_shapes(body);
}

Result<CloudOperation> CrusoeApi::create(const MachineOrder& order) {
    RM_TRY(const std::string path, vms_path("bulk-instances"));
    RM_TRY(const std::string body, change("POST", path, order_json(order)));
    return accepted(body);
}

Result<CloudOperation> CrusoeApi::remove(const std::string& machine_id) {
    RM_TRY(const std::string path, vms_path("instances/" + segment(machine_id)));
    RM_TRY(const std::string body, change("DELETE", path, ""));
    return accepted(body);
}

Result<CloudOperation> CrusoeApi::operation(const std::string& id) {
    RM_TRY(const std::string path, vms_path("instances/operations/" + segment(id)));
    RM_TRY(const std::string body, get(path, {}));
    RM_TRY(CloudOperation found, parse_operation(body));
    found.message = without_secrets(found.message);
    return found;
}

Result<std::vector<Machine>> CrusoeProvider::list(const std::stop_token& stop) {
    CrusoeApi api(config_, clock_, {}, stop);
    RM_TRY(config_.project, api.project());  // asks for the id of a name once
    return api.machines();
}

}  // namespace rm
