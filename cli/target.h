#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/config_file.h"

// Which controller the command line talks to, and with what.
namespace rm {

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

// A flag, else RINGMASTER_ADDRESS or RINGMASTER_CONTEXT, else `current` of the config file, else
// 127.0.0.1:7070. NOT_FOUND for a context nobody wrote down; UNAVAILABLE, saying how to bring it up
// again, for a state directory whose cluster is not running.
//
// The credentials are those of the context, if it is one, each replaced by its flag, else by
// RINGMASTER_CA, _CERT, _KEY or _TOKEN_FILE. A cluster of --state and a Unix socket need none, and
// get only what the flags name.
Result<Target> find_controller(const TargetFlags& flags, const Lookup& environment);

// $name, or $HOME/fallback, as an XDG base directory; both with /ringmaster behind.
std::string user_dir(const Lookup& environment, const std::string& name,
                     const std::string& fallback);

}  // namespace rm
