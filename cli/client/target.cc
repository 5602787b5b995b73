#include "cli/client/target.h"

#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "cli/up/cluster_file.h"
#include "service/state_dir.h"

namespace rm {
namespace {

constexpr auto key_of = [](const auto& item) { return item.first; };

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
    const std::string known = join(config.contexts, ", ", key_of);
    return make_error(ErrorCode::not_found, "context '{}' is not in the config file; {}", name,
                      known.empty() ? "it has none" : "it has " + known);
}

// Does not apply the credentials of flags and environment.
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

// A node's position, from 1; yaml-cpp counts from 0.
struct At {
    std::string_view file;

    Error error(const YAML::Mark& mark, std::string_view message) const {
        return invalid_argument("{}:{}:{}: {}", file, mark.line + 1, mark.column + 1, message);
    }
};

// The directory to which relative paths are relative.
std::string directory_of(std::string_view file) {
    return std::filesystem::path(file).parent_path().string();
}

void make_absolute(const std::string& directory, ClientSecurity& security) {
    for (std::string* path :
         {&security.ca, &security.certificate, &security.key, &security.token_file}) {
        if (!path->empty()) *path = (std::filesystem::path(directory) / *path).string();
    }
}

Status read_context(const At& at, const std::string& name, const YAML::Node& value,
                    Target& target) {
    ClientSecurity& security = target.security;
    const std::map<std::string, std::string*> keys = {
        {"address", &target.address},         {"ca", &security.ca},
        {"cert", &security.certificate},      {"key", &security.key},
        {"token_file", &security.token_file}, {"server_name", &security.server_name}};
    for (const auto& item : value) {
        const std::string key = item.first.as<std::string>();
        const auto known = keys.find(key);
        if (known == keys.end()) {
            return at.error(item.first.Mark(), format("unknown key '{}' in context '{}'; known: {}",
                                                      key, name, join(keys, ", ", key_of)));
        }
        if (!item.second.IsScalar() || item.second.as<std::string>().empty()) {
            return at.error(item.second.Mark(), format("{} must be a text", key));
        }
        if (!known->second->empty()) {
            return at.error(item.first.Mark(), format("context '{}' gives {} twice", name, key));
        }
        *known->second = item.second.as<std::string>();
    }
    return {};
}

Status add_context(const At& at, const std::string& name, const YAML::Node& value,
                   CliConfig& config) {
    if (!value.IsMap()) {
        return at.error(value.Mark(), format("context '{}' must be {address: ...}", name));
    }
    Target target;
    RM_RETURN_IF_ERROR(read_context(at, name, value, target));
    if (target.address.empty()) {
        return at.error(value.Mark(), format("context '{}' has no address", name));
    }
    make_absolute(directory_of(at.file), target.security);
    if (config.contexts.emplace(name, std::move(target)).second) return {};
    return at.error(value.Mark(), format("context '{}' is defined twice", name));
}

Status add_key(const At& at, const YAML::Node& key, const YAML::Node& value, CliConfig& config) {
    const std::string name = key.as<std::string>();
    if (name == "current" && value.IsScalar()) {
        config.current = value.as<std::string>();
        return {};
    }
    if (name == "contexts" && value.IsMap()) {
        for (const auto& item : value) {
            RM_RETURN_IF_ERROR(add_context(at, item.first.as<std::string>(), item.second, config));
        }
        return {};
    }
    if (name == "current") return at.error(value.Mark(), "current must be the name of a context");
    if (name == "contexts")
        return at.error(value.Mark(), "contexts must be {name: {address: ...}}");
    return at.error(key.Mark(), format("unknown key '{}'; known: current, contexts", name));
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

Result<CliConfig> parse_cli_config(std::string_view text, std::string_view file_name) {
    const At at{file_name};
    CliConfig config;
    try {
        const YAML::Node root = YAML::Load(std::string(text));
        if (root.IsNull()) return config;
        if (!root.IsMap()) return at.error(root.Mark(), "must be a map with current and contexts");
        for (const auto& item : root) {
            RM_RETURN_IF_ERROR(add_key(at, item.first, item.second, config));
        }
    } catch (const YAML::Exception& error) {
        return at.error(error.mark, error.msg);
    }
    return config;
}

}  // namespace rm
