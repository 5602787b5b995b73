#include "cli/target.h"

#include <cstdlib>

#include "cli/config_file.h"
#include "cli/up/cluster_file.h"
#include "service/state_dir.h"

namespace rm {
namespace {

Result<CliConfig> read_config(const TargetFlags& flags, const Lookup& environment) {
    const std::string path =
        flags.config.empty() ? user_dir(environment, "XDG_CONFIG_HOME", ".config") + "/config.yaml"
                             : flags.config;
    const auto text = read_small_file(path);
    if (text) return parse_cli_config(*text, path);
    const bool may_be_missing = flags.config.empty() && text.error().code == ErrorCode::not_found;
    if (may_be_missing) return CliConfig{};
    return text.error();
}

Result<Target> find_context(const std::string& name, const CliConfig& config) {
    const auto found = config.contexts.find(name);
    if (found != config.contexts.end()) return found->second;
    std::string known;
    for (const auto& [other, target] : config.contexts)
        known += (known.empty() ? "" : ", ") + other;
    return make_error(ErrorCode::not_found, "context '{}' is not in the config file; {}", name,
                      known.empty() ? "it has none" : "it has " + known);
}

// Without the credentials of flags and environment.
Result<Target> named_target(const TargetFlags& flags, const Lookup& environment) {
    if (!flags.address.empty()) return Target{flags.address, {}};
    if (!flags.state_dir.empty()) {
        RM_TRY(std::string address, address_of_cluster(flags.state_dir));
        return Target{std::move(address), {}};
    }
    if (flags.context.empty()) {
        if (const auto address = environment("RINGMASTER_ADDRESS")) return Target{*address, {}};
    }
    RM_TRY(const CliConfig config, read_config(flags, environment));
    const std::string context = flags.context.empty()
                                    ? environment("RINGMASTER_CONTEXT").value_or(config.current)
                                    : flags.context;
    if (context.empty()) return Target{std::string(kDefaultAddress), {}};
    return find_context(context, config);
}

}  // namespace

std::optional<std::string> environment_lookup(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

std::string user_dir(const Lookup& environment, const std::string& name,
                     const std::string& fallback) {
    if (const auto base = environment(name)) return *base + "/ringmaster";
    return environment("HOME").value_or("") + "/" + fallback + "/ringmaster";
}

Result<Target> find_controller(const TargetFlags& flags, const Lookup& environment) {
    RM_TRY(Target target, named_target(flags, environment));
    // File permissions protect a Unix socket: the environment's credentials are for other
    // controllers.
    const bool local = target.address.starts_with("unix:");
    const auto from_environment = [&](const char* name) {
        return local ? std::nullopt : environment(name);
    };
    ClientSecurity& security = target.security;
    const auto choose = [&](std::string& value, const std::string& flag, const char* variable) {
        if (!flag.empty()) {
            value = flag;
        } else if (const auto text = from_environment(variable)) {
            value = *text;
        }
    };
    // Prefers the requested certificate to the token of the context.
    if (!flags.security.certificate.empty()) security.token_file.clear();
    choose(security.ca, flags.security.ca, "RINGMASTER_CA");
    choose(security.certificate, flags.security.certificate, "RINGMASTER_CERT");
    choose(security.key, flags.security.key, "RINGMASTER_KEY");
    choose(security.token_file, flags.security.token_file, "RINGMASTER_TOKEN_FILE");
    if (!flags.security.server_name.empty()) security.server_name = flags.security.server_name;
    return target;
}

}  // namespace rm
