#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

// DIR/ringmaster.json: tells `ringmaster --state DIR ...` how to reach a cluster made by `up`.
namespace rm {

struct DaemonRecord {
    std::string name;  // controller, worker-0, ...
    pid_t pid = 0;
    std::string http;  // host:port of its /metrics; empty: none
    bool operator==(const DaemonRecord&) const = default;
};

struct ClusterFile {
    pid_t pid = 0;                  // of the `up` that runs it; 0: stopped
    std::string address;            // unix:/... of the controller
    std::vector<std::string> grpc;  // its other addresses
    std::string socket_dir;         // where the sockets are
    std::vector<DaemonRecord> daemons;
    bool operator==(const ClusterFile&) const = default;
};

std::string to_json(const ClusterFile& cluster);
Result<ClusterFile> parse_cluster_file(const std::string& text);

Status write_cluster_file(const std::string& state_dir, const ClusterFile& cluster);
// The address of the running cluster of this state directory. NOT_FOUND when it is no such
// directory; UNAVAILABLE, saying how to restart it, when the cluster is not running.
Result<std::string> address_of_cluster(const std::string& state_dir);

}  // namespace rm
