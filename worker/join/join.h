#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "worker/join/node_pki.h"

namespace rm {

struct JoinOrder {
    std::string controller;   // host:port
    std::string server_name;  // empty: the host
    std::string name;         // of the node, for users: its id begins with it
    std::string token_file;
    std::string fingerprint;  // of the controller's authority: sha256:HEX
};

// Makes this machine a node, and its credentials, with the address of a controller, a join token
// and the fingerprint of the authority alone: finds that authority behind the controller's
// certificate, then calls Join over TLS that trusts nothing else. Asks again with growing pauses
// while no controller answers. PERMISSION_DENIED: asking again does not help; CANCELLED:
// `must_stop` says so.
Status join_cluster(const JoinOrder& order, const NodePki& pki,
                    const std::function<bool()>& must_stop);

}  // namespace rm
