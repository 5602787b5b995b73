#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/security/client_security.h"

// Finds the controller that the command line talks to, and the credentials for it.
namespace rm {

// A controller and the credentials for it.
struct Target {
    std::string address;
    ClientSecurity security;
    bool operator==(const Target&) const = default;
};

// ~/.config/ringmaster/config.yaml:
//   current: lab
//   contexts:
//     lab:
//       address: controller.lab:7070
//       ca: ca.crt                     # paths are relative to the file's directory
//       cert: me.crt
//       key: me.key
//       token_file: token              # instead of cert and key
//       server_name: controller        # what the certificate names, where it is not the address
struct CliConfig {
    std::string current;                     // empty: none
    std::map<std::string, Target> contexts;  // by name
};

// Errors are INVALID_ARGUMENT and begin with "file:line:column: "; unknown keys are errors.
Result<CliConfig> parse_cli_config(std::string_view text, std::string_view file_name);

struct TargetFlags {
    std::string address;    // --address
    std::string context;    // --context
    std::string state_dir;  // --state: of a cluster made by `ringmaster up`
    std::string config;  // --config; empty: ~/.config/ringmaster/config.yaml, which may be missing
    ClientSecurity security;  // --ca, --cert, --key, --token-file, --server-name
};

using Lookup = std::function<std::optional<std::string>(const std::string&)>;
std::optional<std::string> environment_lookup(const std::string& name);  // of this process

constexpr std::string_view kDefaultAddress = "127.0.0.1:7070";

// In this order: a flag, RINGMASTER_ADDRESS or RINGMASTER_CONTEXT, `current` of the config file,
// 127.0.0.1:7070. NOT_FOUND for an undefined context; UNAVAILABLE, saying how to restart it, for a
// state directory whose cluster is not running.
//
// The credentials are those of the context, if there is one; a flag or, without it, RINGMASTER_CA,
// _CERT, _KEY or _TOKEN_FILE replaces each. A cluster of --state and a Unix socket need none, and
// get only those that flags name.
Result<Target> find_controller(const TargetFlags& flags, const Lookup& environment);

// $name, or $HOME/fallback, as an XDG base directory; both with /ringmaster behind.
std::string user_dir(const Lookup& environment, const std::string& name,
                     const std::string& fallback);

}  // namespace rm
