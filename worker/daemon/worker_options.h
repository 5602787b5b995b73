#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/security/client_security.h"
#include "worker/daemon/metrics_page.h"
#include "worker/dir/attempt_dir.h"
#include "worker/probe/wire.h"

namespace rm {

struct WorkerOptions {
    std::string state_dir;
    std::string controller;  // unix:/path, or host:port, on loopback without TLS
    ClientSecurity security;
    int num_devices = 1;
    MetricsOptions metrics;
    std::string data_address = "127.0.0.1";  // loopback or private
    // Of the probe server, on data_address; none: this worker is not surveyed.
    std::optional<PortRange> probe_ports = kDataPorts;
    OrphanPolicy orphan;
    int slots_on_machine = 0;  // of all workers here; 0: this one's
    std::string peak_cache;
    std::vector<std::string> roots;  // NAME=PATH, checked; none: every path is allowed
};

// Options, or the exit code when there is nothing left to do (help, version, usage errors: these
// have been printed).
struct CommandLine {
    std::optional<WorkerOptions> options;
    int exit_code = 0;
};
CommandLine parse_command_line(int argc, char** argv);

// Loopback, or private by RFC 1918, 3927, 4193, 4291; the data plane is not encrypted.
Status check_data_address(const std::string& address);

}  // namespace rm
