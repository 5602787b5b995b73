#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/security/client_security.h"

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

}  // namespace rm
