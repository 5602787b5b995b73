#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "engine/comm/transport/transport.h"
#include "spec/mesh.h"

// Ranks as threads of one process, each with its own transport of the kind under test.
namespace rm::testing {

// "local", "shared" (processes of one node) and, where gloo can be tested, "gloo" (each rank on a
// node of its own) and "mixed" (two ranks on each node).
std::vector<std::string> transport_kinds();
// These, and "nccl" over the stand-in of tests/standins.
std::vector<std::string> network_kinds();

struct Cluster {
    std::string kind = "local";
    int num_ranks = 2;
    PeerTable peers;  // default: next and previous on the ring of all
    Seconds timeout{30};
    Faults* faults = nullptr;                 // passed to rank 0
    LocalLinks links = {};                    // of "local"
    std::vector<std::string> addresses = {};  // by rank; default: by the kind, in 127.0.0.0/8
    PortRange ports = {};                     // between nodes; default: any
    std::optional<Mesh> mesh = {};            // of "nccl"
};

using RankBody = std::function<void(Transport&)>;

// Runs `body` on every rank; returns the error that each rank threw, empty if it threw none.
std::vector<std::string> run_ranks(const Cluster& cluster, const RankBody& body);

// Does the same, and fails if a rank throws.
void run_all(const Cluster& cluster, const RankBody& body);

// The same on any network; NCCL connects the groups of `cluster.mesh`.
using NetworkBody = std::function<void(Network&)>;
std::vector<std::string> run_networks(const Cluster& cluster, const NetworkBody& body);
void run_all_networks(const Cluster& cluster, const NetworkBody& body);

// Every rank talks to every other.
PeerTable all_peers(int num_ranks);

Mesh mesh_of(int data, int ring, int ulysses, int tensor, int inner_ring = 0);

class Stopwatch {
public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace rm::testing
