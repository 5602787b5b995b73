#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace rm {

struct JoinLine {
    std::string controller;          // host:7070
    std::string token_file;          // of `ringmaster token create --role join`
    std::string ca_fingerprint;      // "sha256:" and 64 hexadecimal digits
    std::vector<std::string> roots;  // "share=/srv/share", as the cluster's other workers have them
};

// A script that a new machine runs once, as root: it writes the token into a file of the worker
// alone and the address into /etc/ringmaster/worker.yaml, and starts the worker of its image. No
// command line ever has the token. Errors name what is malformed.
Result<std::string> startup_script(const JoinLine& join);

}  // namespace rm
