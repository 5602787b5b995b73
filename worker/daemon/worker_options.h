#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/security/client_security.h"
#include "worker/daemon/metrics_page.h"
#include "worker/dir/attempt_dir.h"
#include "worker/inventory/inventory.h"
#include "worker/probe/wire.h"
#include "worker/profile/kept_profiles.h"

namespace rm {

struct WorkerOptions {
    std::string state_dir;
    std::string name;        // the node's name for users; empty: the machine's
    std::string controller;  // unix:/path, or host:port, on loopback without TLS
    ClientSecurity security;
    // A machine that is to join; the state directory of one that has joined has its credentials.
    std::string join_token;              // a file; empty: it does not join
    std::string ca_fingerprint;          // sha256:HEX
    std::optional<DeviceOffer> devices;  // nothing: all GPUs, or else one CPU slot
    MetricsOptions metrics;
    std::string data_address = "auto";     // loopback or private; auto: the survey chooses
    PortRange ports = kDataPorts;          // for ranks and the probe server
    bool is_probed = true;                 // false: its links are not surveyed
    std::optional<PortRange> probe_ports;  // if they differ from `ports`
    OrphanPolicy orphan;
    Bytes memory;  // host memory that all its ranks together may use; 0: all that is usable
    ProfileMode profile = ProfileMode::automatic;
    int slots_on_machine = 0;  // of all workers here; 0: this one's
    std::string peak_cache;
    std::vector<std::string> roots;  // NAME=PATH, checked; none: every path is allowed
};

// Options, or the exit code when there is nothing left to do (help, version or a usage error,
// already printed).
struct WorkerCommandLine {
    std::optional<WorkerOptions> options;
    int exit_code = 0;
};
WorkerCommandLine parse_command_line(int argc, char** argv);
// `ringmaster-worker stop-ranks`, of which argv[0] is the verb: the same options and file, but only
// --state and --stop-grace count.
WorkerCommandLine parse_stop_ranks_line(int argc, char** argv);

}  // namespace rm
