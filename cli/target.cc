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

Result<std::string> address_of_context(const std::string& name, const CliConfig& config) {
    const auto found = config.contexts.find(name);
    if (found != config.contexts.end()) return found->second;
    std::string known;
    for (const auto& [other, address] : config.contexts)
        known += (known.empty() ? "" : ", ") + other;
    return make_error(ErrorCode::not_found, "context '{}' is not in the config file; {}", name,
                      known.empty() ? "it has none" : "it has " + known);
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

Result<std::string> find_controller(const TargetFlags& flags, const Lookup& environment) {
    if (!flags.address.empty()) return flags.address;
    if (!flags.state_dir.empty()) return address_of_cluster(flags.state_dir);
    if (flags.context.empty()) {
        if (const auto address = environment("RINGMASTER_ADDRESS")) return *address;
    }
    RM_TRY(const CliConfig config, read_config(flags, environment));
    const std::string context = flags.context.empty()
                                    ? environment("RINGMASTER_CONTEXT").value_or(config.current)
                                    : flags.context;
    if (context.empty()) return std::string(kDefaultAddress);
    return address_of_context(context, config);
}

}  // namespace rm
