#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "controller/survey/infer.h"
#include "controller/survey/survey_run.h"
#include "topology/transfers.h"

// Networks with known rates: racks of nodes behind uplinks, shared max-min fairly.
namespace rm::test {

struct PlantedRack {
    std::vector<double> nodes;  // Gbit/s of each node's interface, both ways
    double uplink = 0;          // both ways; 0: no limit
};

struct PlantedNetwork {
    LinkGraph graph;
    std::vector<int> rack_of;  // by node

    static PlantedNetwork of(const std::vector<PlantedRack>& racks) {
        PlantedNetwork planted;
        std::vector<NodeId> ids;
        std::vector<double> rates;
        for (std::size_t rack = 0; rack < racks.size(); ++rack) {
            for (const double rate : racks[rack].nodes) {
                planted.rack_of.push_back(static_cast<int>(rack));
                ids.push_back({format("n{}", ids.size())});
                rates.push_back(rate);
            }
        }
        planted.graph = uniform_graph(ids, 1, {{1e4}, {}, {50e-6}}, {{1e4}, {}, {}});
        for (std::size_t i = 0; i < ids.size(); ++i)
            planted.graph.nodes[i].egress = planted.graph.nodes[i].ingress = {rates[i]};
        for (std::size_t rack = 0; rack < racks.size(); ++rack)
            planted.add_uplink(static_cast<int>(rack), racks[rack].uplink);
        return planted;
    }

    int size() const { return graph.num_nodes(); }
    // Each flow's rate while all of them run, Gbit/s.
    std::vector<double> rates(const std::vector<NodePair>& flows) const {
        const Routes routes(graph);
        std::vector<Transfer> transfers;
        for (const auto& [from, to] : flows)
            transfers.push_back({{from, 0}, {to, 0}, {1}});
        std::vector<double> rates = fair_rates(routes, transfers);
        for (double& rate : rates)
            rate *= 8e-9;
        return rates;
    }
    double alone(int from, int to) const { return rates({{from, to}})[0]; }

    // The rounds of a tournament, both ways, with noise of this relative size.
    std::vector<Episode> tournament_episodes(double noise, std::uint64_t seed) const {
        Rng rng(seed);
        std::vector<Episode> episodes;
        for (const Round& round : tournament(size())) {
            Round back;
            for (const auto& [a, b] : round)
                back.push_back({b, a});
            episodes.push_back(episode(round, noise, rng));
            episodes.push_back(episode(back, noise, rng));
        }
        return episodes;
    }

private:
    Episode episode(const Round& flows, double noise, Rng& rng) const {
        const std::vector<double> exact = rates(flows);
        Episode episode;
        for (std::size_t i = 0; i < flows.size(); ++i) {
            const double factor = 1 + noise * (2 * rng.uniform() - 1);
            episode.push_back({flows[i].first, flows[i].second, exact[i] * factor});
        }
        return episode;
    }
    void add_uplink(int rack, double rate) {
        if (rate == 0) return;
        std::vector<int> members;
        for (int node = 0; node < size(); ++node) {
            if (rack_of[static_cast<std::size_t>(node)] == rack) members.push_back(node);
        }
        graph.trunks.push_back({format("rack {} up", rack), members, {}, {rate}});
        graph.trunks.push_back({format("rack {} down", rack), {}, members, {rate}});
    }
};

}  // namespace rm::test
