#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace rm {

enum class UrlScheme { http, https };

// "https://api.example.com/v1": where requests go, and what their paths begin with.
struct BaseUrl {
    UrlScheme scheme = UrlScheme::https;
    std::string host;
    int port = 443;
    std::string path;  // "/v1"; empty: none
    bool operator==(const BaseUrl&) const = default;
};

// https://, or http:// to this machine alone: requests carry credentials. INVALID_ARGUMENT quotes
// the text.
Result<BaseUrl> parse_base_url(std::string_view text);

struct OutgoingRequest {
    std::string method;  // GET, POST, DELETE
    std::string target;  // path and query
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;  // JSON; empty: none
};

struct HttpAnswer {
    int status = 0;
    std::string retry_after;  // the header; empty: none
    std::string body;
};

// How far a request without an answer came. The server may have carried out one that it has seen.
enum class Delivery { none, possible };

struct HttpOutcome {
    Result<HttpAnswer> answer;
    Delivery delivery = Delivery::none;  // where there is no answer
};

// One request over a connection of its own, until its answer, a deadline or a stop. Over https the
// server's certificate must be signed by an authority that this machine trusts (SSL_CERT_FILE adds
// one). Errors, UNAVAILABLE, DEADLINE_EXCEEDED or CANCELLED, name the server and nothing of the
// request.
HttpOutcome send_request(const BaseUrl& server, const OutgoingRequest& request, Seconds limit,
                         std::stop_token stop = {});

}  // namespace rm
