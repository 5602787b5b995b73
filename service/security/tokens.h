#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "service/security/role.h"

// Bearer tokens (RFC 6750): "rm_" and 64 hexadecimal digits, 256 bits from the system's generator.
// The controller's file keeps only their SHA-256. A slow, salted hash (argon2) protects secrets
// that people choose, of which there are few; 2^256 random tokens cannot be searched, and one fast
// hash per call costs nothing. The lookup of a hash need not take constant time: its timing
// reveals something about a hash, not about a token.
namespace rm {

struct TokenFacts {
    std::string name;
    Role role = Role::viewer;
    std::optional<WallTime> expires;
};

using Tokens = std::map<std::string, TokenFacts>;  // by hash_token()

std::string make_token();
// "rmj_" and as many digits: kept by the controller that made it, not in a file.
std::string make_join_token();
bool is_join_token(std::string_view token);
std::string hash_token(std::string_view token);  // SHA-256 in lower-case hexadecimal

// A YAML list of {name, role, sha256, expires}; `expires` (2026-01-02T03:04:05Z) may be missing.
// Errors name the place.
Result<Tokens> parse_tokens(std::string_view text, std::string_view file_name);
// One item of that list, as a line. `name` has no quote and no control character.
Result<std::string> token_line(const std::string& hash, const TokenFacts& facts);

// Parses a caller's token file: one token, optional blanks around it. INVALID_ARGUMENT when there
// is none.
Result<std::string> parse_token(std::string_view text, std::string_view file_name);
// PERMISSION_DENIED: other users may read or change it.
Result<std::string> read_token_file(const std::string& path);

}  // namespace rm
