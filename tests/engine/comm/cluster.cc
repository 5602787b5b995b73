#include "tests/engine/comm/cluster.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/comm/communicator.h"
#include "engine/comm/nccl/nccl_network.h"

namespace rm::testing {

std::vector<std::string> network_kinds() {
    std::vector<std::string> kinds = transport_kinds();
    kinds.emplace_back("nccl");
    return kinds;
}

namespace {

// Opened first, the stand-in is the library of its name for the whole program.
void use_the_standin() {
    static void* const library = ::dlopen(RM_STANDIN_NCCL, RTLD_NOW);
    RM_CHECK(library != nullptr, "{}", ::dlerror());
}

std::string address_of(const Cluster& cluster, std::size_t rank) {
    if (!cluster.addresses.empty()) return cluster.addresses[rank];
    const std::size_t ranks_of_node = cluster.kind == "gloo" ? 1 : 2;
    const std::size_t node = cluster.kind == "shared" ? 0 : rank / ranks_of_node;
    return format("127.0.0.{}", 1 + node);
}

// Makes a rank's network; its hub and its exchange are shared with the other ranks.
std::unique_ptr<Network> connect(const Cluster& cluster, int rank,
                                 const std::shared_ptr<LocalHub>& hub, Exchange& exchange) {
    if (cluster.kind == "nccl") {
        use_the_standin();
        const NcclOptions options{.rank = rank, .mesh = *cluster.mesh, .timeout = cluster.timeout};
        auto made = make_nccl_network(exchange, options);
        if (!made) throw TransportError(made.error().message);
        return std::move(*made);
    }
    const auto index = static_cast<std::size_t>(rank);
    const PeerTable peers =
        cluster.peers.empty() ? peers_of(mesh_of(1, cluster.num_ranks, 1, 1)) : cluster.peers;
    const TransportOptions options{.rank = rank,
                                   .num_ranks = cluster.num_ranks,
                                   .peers = peers[index],
                                   .ports = cluster.ports,
                                   .timeout = cluster.timeout,
                                   .faults = rank == 0 ? cluster.faults : nullptr};
    if (cluster.kind == "local") return make_local_transport(hub, options);
    return make_gloo_transport(address_of(cluster, index), exchange, options);
}

void expect_no_errors(const std::vector<std::string>& errors) {
    for (std::size_t rank = 0; rank < errors.size(); ++rank) {
        EXPECT_EQ(errors[rank], "") << "rank " << rank;
    }
}

}  // namespace

std::vector<std::string> run_networks(const Cluster& cluster, const NetworkBody& body) {
    const auto hub = make_local_hub(cluster.num_ranks, cluster.links);
    const auto exchanges = make_local_exchanges(cluster.num_ranks);
    std::vector<std::string> errors(static_cast<std::size_t>(cluster.num_ranks));
    const auto run_rank = [&](int rank) {
        const auto index = static_cast<std::size_t>(rank);
        try {
            body(*connect(cluster, rank, hub, *exchanges[index]));
        } catch (const std::exception& error) {
            errors[index] = error.what();
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < cluster.num_ranks; ++rank)
        threads.emplace_back(run_rank, rank);
    for (auto& thread : threads)
        thread.join();
    return errors;
}

std::vector<std::string> run_ranks(const Cluster& cluster, const RankBody& body) {
    return run_networks(cluster,
                        [&](Network& network) { body(dynamic_cast<Transport&>(network)); });
}

void run_all(const Cluster& cluster, const RankBody& body) {
    expect_no_errors(run_ranks(cluster, body));
}
void run_all_networks(const Cluster& cluster, const NetworkBody& body) {
    expect_no_errors(run_networks(cluster, body));
}

PeerTable all_peers(int num_ranks) {
    return peers_of(mesh_of(1, 1, num_ranks, 1));
}

Mesh mesh_of(int data, int ring, int ulysses, int tensor, int inner_ring) {
    return Mesh::make(data, ring, ulysses, tensor, inner_ring).value();
}

}  // namespace rm::testing
