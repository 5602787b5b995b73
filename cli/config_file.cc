#include "cli/config_file.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>

namespace rm {
namespace {

// A node's position, from 1; yaml-cpp counts from 0.
struct At {
    std::string_view file;

    Error error(const YAML::Mark& mark, std::string_view message) const {
        return invalid_argument("{}:{}:{}: {}", file, mark.line + 1, mark.column + 1, message);
    }
};

std::string known_keys(const std::map<std::string, std::string*>& keys) {
    std::string list;
    for (const auto& [key, target] : keys)
        list += (list.empty() ? "" : ", ") + key;
    return list;
}

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
                                                      key, name, known_keys(keys)));
        }
        if (!item.second.IsScalar() || item.second.as<std::string>().empty()) {
            return at.error(item.second.Mark(), format("{} must be a text", key));
        }
        if (!known->second->empty()) {
            return at.error(item.first.Mark(), format("context '{}' has two of {}", name, key));
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
    return at.error(value.Mark(), format("context '{}' is there twice", name));
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
