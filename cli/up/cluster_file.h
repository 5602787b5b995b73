#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/target.h"

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
// Likewise where its controller serves HTTP. FAILED_PRECONDITION: nowhere.
Result<std::string> http_of_cluster(const std::string& state_dir);

// The paths of a local cluster. A path of a Unix socket may have 107 bytes: where the controller's
// would be longer, it goes through a short link to the state directory, in a private directory
// below $XDG_RUNTIME_DIR or /tmp, that has the same name each time. (Workers reach theirs through
// descriptors.)
struct ClusterPaths {
    std::string state_dir;   // absolute
    std::string socket_dir;  // state_dir, or the link

    std::string controller_address() const { return "unix:" + socket_dir + "/controller.sock"; }
    std::string worker_name(int index) const { return format("worker-{}", index); }
};

// `state_dir` is absolute. PERMISSION_DENIED when another user owns the directory for the link.
Result<ClusterPaths> make_cluster_paths(const std::string& state_dir, const Lookup& environment);

// host:port+1, or host:0 for port 0: the HTTP address when only that of gRPC was given.
Result<std::string> http_beside(const std::string& listen);

}  // namespace rm
