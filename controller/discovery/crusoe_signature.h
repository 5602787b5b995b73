#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "controller/discovery/crusoe_config.h"

namespace rm {

using Query = std::map<std::string, std::string>;  // in the order in which it is signed

// "limit=50&states=STATE_RUNNING": form-encoded (a space is +), by key.
std::string encode_query(const Query& query);

struct SignedParts {
    std::string_view path;   // "/v1/projects/..."
    std::string_view query;  // encode_query()
    std::string_view verb;   // "GET"
    std::string_view timestamp;
};

// HMAC-SHA256 of "path\nquery\nverb\ntimestamp\n" with the decoded secret, in base64url without
// padding. The body is not signed. INVALID_ARGUMENT, without the secret, where it is no base64url.
Result<std::string> crusoe_signature(const Secret& secret_key, const SignedParts& parts);

}  // namespace rm
