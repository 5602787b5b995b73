#include "service/security/tokens.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "service/job_file/yaml_fields.h"
#include "service/security/openssl.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr std::string_view kPrefix = "rm_";
constexpr std::string_view kJoinPrefix = "rmj_";
constexpr std::size_t kBytes = 32;
constexpr std::string_view kBlanks = " \t\r\n";

std::string random_hex() {
    std::array<unsigned char, kBytes> bytes{};
    RM_CHECK(RAND_bytes(bytes.data(), kBytes) == 1, "the system gives no random numbers");
    return openssl::hex(bytes);
}

YamlReader read_role(Role& target) {
    return [&target](const YamlValue& value) -> Status {
        const auto role = parse_word<Role>(value.node.text);
        if (!role) return value.error(role.error().message);
        if (*role == Role::joiner) {
            return value.error("no token of this file joins; `ringmaster token create` makes one");
        }
        target = *role;
        return {};
    };
}

YamlReader read_hash(std::string& target) {
    return [&target](const YamlValue& value) -> Status {
        target = value.node.text;
        const bool good = target.size() == 2 * kBytes &&
                          target.find_first_not_of("0123456789abcdef") == std::string::npos;
        return good ? Status() : value.error("must be a SHA-256 in lower-case hexadecimal");
    };
}

YamlReader read_time(std::optional<WallTime>& target) {
    return [&target](const YamlValue& value) -> Status {
        std::tm parts{};
        const char* end = strptime(value.node.text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
        if (end == nullptr || *end != '\0') {
            return value.error("must be a time in UTC, as in 2026-01-02T03:04:05Z");
        }
        target = WallTime{std::int64_t{timegm(&parts)} * 1'000'000};
        return {};
    };
}

// Jobs of callers on a Unix socket or plain loopback belong to this name.
Status check_name(const std::string& name) {
    if (name != "default") return {};
    return invalid_argument(
        "name 'default' would own the jobs of all local callers; take another name");
}

Status read_token(const YamlValue& value, Tokens& tokens) {
    std::string hash;
    TokenFacts facts;
    RM_RETURN_IF_ERROR(read_map(value, {{"name", read_text(facts.name), Presence::required},
                                        {"role", read_role(facts.role), Presence::required},
                                        {"sha256", read_hash(hash), Presence::required},
                                        {"expires", read_time(facts.expires)}}));
    if (const Status named = check_name(facts.name); !named) {
        return value.error(named.error().message);
    }
    if (tokens.emplace(hash, facts).second) return {};
    return value.error("the same sha256 is there twice");
}

// Accepts a missing file: reading it fails later with a better error.
Status check_private(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0 || (facts.st_mode & 0077) == 0) return {};
    return make_error(ErrorCode::permission_denied,
                      "the token file {} can be read or changed by other users; `chmod 600 {}`, "
                      "and make a new token if one of them may have seen it",
                      path, path);
}

}  // namespace

std::string make_token() {
    return std::string(kPrefix) + random_hex();
}

std::string make_join_token() {
    return std::string(kJoinPrefix) + random_hex();
}

bool is_join_token(std::string_view token) {
    return token.starts_with(kJoinPrefix);
}

std::string hash_token(std::string_view token) {
    std::array<unsigned char, kBytes> digest{};
    const int done =
        EVP_Digest(token.data(), token.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
    RM_CHECK(done == 1, "SHA-256 is not available");
    return openssl::hex(digest);
}

Result<Tokens> parse_tokens(std::string_view text, std::string_view file_name) {
    RM_TRY(const YamlNode root, parse_yaml(text, file_name));
    Tokens tokens;
    if (root.kind == YamlNode::Kind::null) return tokens;
    RM_RETURN_IF_ERROR(
        read_sequence({file_name, "", root, root.place},
                      [&](const YamlValue& value) { return read_token(value, tokens); }));
    return tokens;
}

Result<std::string> token_line(const std::string& hash, const TokenFacts& facts) {
    const auto bad = [](unsigned char c) { return c < ' ' || c == '"' || c == '\\'; };
    if (facts.name.empty() || std::any_of(facts.name.begin(), facts.name.end(), bad)) {
        return invalid_argument("name '{}' must be a word without quotes", facts.name);
    }
    RM_RETURN_IF_ERROR(check_name(facts.name));
    const std::string expires =
        facts.expires ? format(", expires: \"{}\"", to_iso8601(*facts.expires)) : "";
    return format("- {{name: \"{}\", role: {}, sha256: \"{}\"{}}}\n", facts.name,
                  to_string(facts.role), hash, expires);
}

Result<std::string> parse_token(std::string_view text, std::string_view file_name) {
    const auto begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return invalid_argument("token file {} is empty", file_name);
    return std::string(text.substr(begin, text.find_first_of(kBlanks, begin) - begin));
}

Result<std::string> read_token_file(const std::string& path) {
    RM_RETURN_IF_ERROR(check_private(path));
    RM_TRY(const std::string text, read_small_file(path));
    return parse_token(text, path);
}

}  // namespace rm
