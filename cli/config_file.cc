#include "cli/config_file.h"

#include <yaml-cpp/yaml.h>

namespace rm {
namespace {

// Where a node stands, from 1; yaml-cpp counts from 0.
struct At {
    std::string_view file;

    Error error(const YAML::Mark& mark, std::string_view message) const {
        return invalid_argument("{}:{}:{}: {}", file, mark.line + 1, mark.column + 1, message);
    }
};

Status add_context(const At& at, const std::string& name, const YAML::Node& value,
                   CliConfig& config) {
    if (!value.IsMap()) {
        return at.error(value.Mark(), format("context '{}' must be {address: ...}", name));
    }
    for (const auto& item : value) {
        const std::string key = item.first.as<std::string>();
        if (key != "address") {
            return at.error(item.first.Mark(),
                            format("unknown key '{}' in context '{}'; known: address", key, name));
        }
        if (!item.second.IsScalar()) {
            return at.error(item.second.Mark(), "address must be host:port or unix:/path");
        }
        if (!config.contexts.emplace(name, item.second.as<std::string>()).second) {
            return at.error(item.first.Mark(), format("context '{}' has two addresses", name));
        }
    }
    if (config.contexts.count(name) == 0) {
        return at.error(value.Mark(), format("context '{}' has no address", name));
    }
    return {};
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
