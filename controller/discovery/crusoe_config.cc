#include "controller/discovery/crusoe_config.h"

#include <sys/stat.h>
#include <toml++/toml.h>

#include <sstream>
#include <vector>

#include "base/text.h"
#include "base/words.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr std::string_view kEndpoint = "https://api.cloud.crusoe.ai/v1";
constexpr std::string_view kLegacyHost = "https://api.crusoecloud.com/";

std::string first_of(const std::string& flag, const std::optional<std::string>& environment,
                     const std::string& file) {
    if (!flag.empty()) return flag;
    return environment.value_or("").empty() ? file : *environment;
}

Status check_private(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0 || (facts.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
    return make_error(ErrorCode::permission_denied,
                      "{} has a secret key and other users may read or change it; `chmod 600 {}`",
                      path, path);
}

// The parser's own message quotes the file, which has the key in it.
Result<toml::table> parse(const std::string& text, const std::string& path) {
    try {
        return toml::parse(text);
    } catch (const toml::parse_error& error) {
        const auto& place = error.source().begin;
        return invalid_argument("{}:{}:{}: is no TOML", path, int{static_cast<int>(place.line)},
                                static_cast<int>(place.column));
    }
}

Result<toml::table> read_file(const CrusoeFlags& flags, const Environment& environment) {
    std::string path = flags.file;
    if (path.empty()) {
        const std::string home = environment("HOME").value_or("");
        if (home.empty()) return toml::table();
        path = home + "/.crusoe/config";
    }
    const auto text = read_small_file(path);
    if (!text && text.error().code == ErrorCode::not_found && flags.file.empty())
        return toml::table();
    if (!text) return text.error();
    RM_RETURN_IF_ERROR(check_private(path));
    return parse(*text, path);
}

std::string text_at(const toml::table& table, std::string_view key) {
    return table[key].value_or(std::string());
}

std::string profiles_in(const toml::table& file) {
    std::vector<std::string> names;
    for (const auto& entry : file) {
        if (entry.second.is_table()) names.emplace_back(entry.first.str());
    }
    return names.empty() ? "none" : join(names);
}

Result<toml::table> profile_of(const toml::table& file, const std::string& name, bool asked) {
    if (const toml::table* found = file[name].as_table()) return *found;
    if (!asked) return toml::table();
    return make_error(ErrorCode::not_found, "Crusoe profile '{}' is not in the file; it has {}",
                      name, profiles_in(file));
}

// The address that Crusoe moved from.
std::string present_endpoint(std::string endpoint) {
    return endpoint.empty() || endpoint.starts_with(kLegacyHost) ? std::string(kEndpoint)
                                                                 : endpoint;
}

Error no_key(const CrusoeConfig& config, std::string_view what, std::string_view variable) {
    return make_error(ErrorCode::unauthenticated,
                      "no Crusoe {}: profile '{}' of ~/.crusoe/config has none and {} is not set",
                      what, config.profile, variable);
}

}  // namespace

Result<CrusoeConfig> find_crusoe_config(const CrusoeFlags& flags, const Environment& environment) {
    RM_TRY(const toml::table file, read_file(flags, environment));
    CrusoeConfig config;
    const std::string named = text_at(file, "profile");
    const std::string asked = first_of(flags.profile, environment("CRUSOE_PROFILE"), "");
    config.profile = asked.empty() ? (named.empty() ? "default" : named) : asked;
    RM_TRY(const toml::table profile, profile_of(file, config.profile, !asked.empty()));
    config.access_key_id =
        first_of("", environment("CRUSOE_ACCESS_KEY_ID"), text_at(profile, "access_key_id"));
    config.secret_key =
        Secret(first_of("", environment("CRUSOE_SECRET_KEY"), text_at(profile, "secret_key")));
    config.project = first_of(flags.project, environment("CRUSOE_DEFAULT_PROJECT"),
                              text_at(profile, "default_project"));
    const std::string endpoint = present_endpoint(first_of(
        flags.endpoint, environment("CRUSOE_API_ENDPOINT"), text_at(profile, "api_endpoint")));
    RM_TRY(config.endpoint, within("Crusoe's API endpoint", parse_base_url(endpoint)));
    if (config.access_key_id.empty())
        return no_key(config, "access key id", "CRUSOE_ACCESS_KEY_ID");
    if (config.secret_key.empty()) return no_key(config, "secret key", "CRUSOE_SECRET_KEY");
    return config;
}

}  // namespace rm
