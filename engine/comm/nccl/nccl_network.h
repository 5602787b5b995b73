#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "engine/comm/communicator.h"
#include "engine/comm/exchange.h"
#include "engine/comm/network.h"

namespace rm {

struct NcclOptions {
    int rank = 0;
    Mesh mesh;
    std::string address;   // of this rank's node
    std::string settings;  // for people, "eth0"; the caller has put them into the environment
    // Limits connecting, and at first one collective; comes from the plan.
    Seconds timeout{60};
    // True ends the wait for peers that have yet to connect, with an error. Null: never.
    const std::atomic<bool>* stop = nullptr;
};

// NCCL between the ranks of an attempt, each a process that sees one device alone. One NCCL
// communicator for each of the rank's groups; groups of the same ranks share one. The first rank of
// a group makes its id, and all are published once through `exchange` in group "nccl". A collective
// that does not end within the timeout, or an asynchronous error of NCCL, makes the communication
// stream fail with a TransportError that names the collective and its peers, and aborts all
// communicators; so does abort(), within a second. `unavailable`: no usable libnccl.so.2 here.
// Throws TransportError where ranks do not meet.
Result<std::unique_ptr<Network>> make_nccl_network(Exchange& exchange, const NcclOptions& options);

}  // namespace rm
