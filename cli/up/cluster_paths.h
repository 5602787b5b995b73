#pragma once

#include <string>

#include "base/result.h"
#include "cli/target.h"

namespace rm {

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
