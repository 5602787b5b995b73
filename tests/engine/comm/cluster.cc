#include "tests/engine/comm/cluster.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/comm/communicator.h"

namespace rm::testing {

std::vector<std::string> run_ranks(const Cluster& cluster, const RankBody& body) {
    const auto hub = make_local_hub(cluster.num_ranks, cluster.links);
    const auto exchanges = make_local_exchanges(cluster.num_ranks);
    const PeerTable peers =
        cluster.peers.empty() ? peers_of(mesh_of(1, cluster.num_ranks, 1, 1)) : cluster.peers;
    std::vector<std::string> errors(static_cast<std::size_t>(cluster.num_ranks));
    const auto run_rank = [&](int rank) {
        const auto index = static_cast<std::size_t>(rank);
        const TransportOptions options{.rank = rank,
                                       .num_ranks = cluster.num_ranks,
                                       .peers = peers[index],
                                       .ports = cluster.ports,
                                       .timeout = cluster.timeout,
                                       .faults = rank == 0 ? cluster.faults : nullptr};
        try {
            const auto transport =
                cluster.kind == "local"
                    ? make_local_transport(hub, options)
                    : make_gloo_transport(
                          cluster.addresses.empty() ? "127.0.0.1" : cluster.addresses[index],
                          *exchanges[index], options);
            body(*transport);
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

void run_all(const Cluster& cluster, const RankBody& body) {
    const auto errors = run_ranks(cluster, body);
    for (std::size_t rank = 0; rank < errors.size(); ++rank) {
        EXPECT_EQ(errors[rank], "") << "rank " << rank;
    }
}

PeerTable all_peers(int num_ranks) {
    return peers_of(mesh_of(1, 1, num_ranks, 1));
}

Mesh mesh_of(int data, int ring, int ulysses, int tensor, int inner_ring) {
    return Mesh::make(data, ring, ulysses, tensor, inner_ring).value();
}

}  // namespace rm::testing
