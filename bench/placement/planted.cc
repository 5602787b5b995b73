#include "bench/placement/planted.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace rm {
namespace {

constexpr int kDevices = 8;
constexpr int kRack = 32;
constexpr std::int64_t kMegabyte = 1'000'000;

std::vector<int> shuffled(int count, Rng& rng) {
    std::vector<int> list(usize(count));
    std::iota(list.begin(), list.end(), 0);
    for (std::size_t i = list.size() - 1; i > 0; --i)
        std::swap(list[i], list[rng.below(i + 1)]);
    return list;
}

class Gardener {
public:
    Gardener(int num_nodes, std::uint64_t seed) : rng_(seed), order_(shuffled(num_nodes, rng_)) {
        std::vector<NodeId> ids;
        for (const int name : shuffled(num_nodes, rng_))
            ids.push_back({format("node-{}", name)});
        graph_ = uniform_graph(ids, kDevices, {{100}, {}, {20e-6}}, {{200}, {}, {5e-6}});
        for (LinkNode& node : graph_.nodes)
            node.egress = node.ingress = {100};
    }

    PlantedProblem racks() {
        for (int first = 0; first < num_nodes(); first += kRack) {
            std::vector<int> rack(order_.begin() + first, order_.begin() + first + kRack);
            std::sort(rack.begin(), rack.end());
            graph_.trunks.push_back({format("rack-{} out", first / kRack), rack, {}, {200}});
            graph_.trunks.push_back({format("rack-{} in", first / kRack), {}, rack, {200}});
        }
        return grown(num_nodes() / 64, 64, kDevices);
    }

    PlantedProblem slow_nodes() {
        const int num_good = num_nodes() - num_nodes() / 16;
        for (int i = num_good; i < num_nodes(); ++i) {
            LinkNode& node = graph_.nodes[size(order_[size(i)])];
            node.egress = node.ingress = {10};
        }
        return grown(num_good / 60, 60, kDevices);
    }

    PlantedProblem hidden_ring() {
        fill_slowly();
        plant_cycle(0, num_nodes());
        return grown(1, num_nodes(), kDevices);
    }

    PlantedProblem hidden_rings() {
        fill_slowly();
        constexpr int kLength = 64;
        for (int first = 0; first < num_nodes(); first += kLength)
            plant_cycle(first, kLength);
        // From the last node of each ring to the first of the next: the path of the gradients.
        for (int first = 0; first < num_nodes(); first += kLength)
            make_fast(first + kLength - 1, (first + kLength) % num_nodes());
        return grown(num_nodes() / kLength, kLength, kDevices);
    }

    PlantedProblem islands() {
        NodeInterior& interior = graph_.interiors[0];
        for (int from = 0; from < kDevices; ++from) {
            for (int to = 0; to < kDevices; ++to) {
                if (from % 2 == to % 2) continue;
                interior.pairs[size(from * kDevices + to)].bandwidth = {40};
            }
        }
        interior.bridges = {{"numa-0", {0, 2, 4, 6}, {150}, {150}},
                            {"numa-1", {1, 3, 5, 7}, {150}, {150}}};
        PlantedProblem problem = racks();
        problem.mesh = Mesh::make(num_nodes() / 64, 128, 1, 4).value();
        for (std::size_t rank = 0; rank < problem.hidden.size(); ++rank) {
            const int place = static_cast<int>(rank) % kDevices;
            problem.hidden[rank].device = place < 4 ? 2 * place : 2 * (place - 4) + 1;
        }
        return problem;
    }

private:
    static std::size_t size(int n) { return usize(n); }
    int num_nodes() const { return static_cast<int>(order_.size()); }
    double around(double rate) { return rate * (0.995 + 0.01 * rng_.uniform()); }

    void fill_slowly() {
        for (Link& link : graph_.network)
            link.bandwidth = {5 + 35 * rng_.uniform()};
        // Fast links outside the answer: one from every fourth node.
        for (int from = 0; from < num_nodes(); from += 4)
            make_fast(from, static_cast<int>(rng_.below(order_.size())));
    }
    // Between places of the hidden order.
    void make_fast(int from, int to) {
        graph_.between(order_[size(from)], order_[size(to)]).bandwidth = {around(90)};
    }
    void plant_cycle(int first, int length) {
        for (int i = 0; i < length; ++i)
            make_fast(first + i, first + (i + 1) % length);
    }

    // Node after node of the hidden order, all devices of each.
    PlantedProblem grown(int data, int ring, int tensor) {
        PlantedProblem problem{std::move(graph_),
                               Mesh::make(data, ring, 1, tensor).value(),
                               {{Axis::tensor, Pattern::ring, {400 * kMegabyte}, 400},
                                {Axis::tensor, Pattern::all_to_all, {300 * kMegabyte}, 300},
                                {Axis::ring, Pattern::ring, {800 * kMegabyte}, 500},
                                {Axis::data, Pattern::ring, {500 * kMegabyte}, 200}},
                               {}};
        for (int rank = 0; rank < problem.mesh.num_ranks(); ++rank) {
            problem.hidden.push_back({order_[size(rank / kDevices)], rank % kDevices});
        }
        return problem;
    }

    Rng rng_;
    std::vector<int> order_;  // nodes as the hidden placement visits them
    LinkGraph graph_;
};

}  // namespace

PlantedProblem plant(Planted kind, int num_nodes, std::uint64_t seed) {
    RM_CHECK(num_nodes > 0 && num_nodes % 64 == 0, "{} nodes; it must be a multiple of 64",
             num_nodes);
    Gardener gardener(num_nodes, seed);
    switch (kind) {
        case Planted::racks:
            return gardener.racks();
        case Planted::slow_nodes:
            return gardener.slow_nodes();
        case Planted::hidden_ring:
            return gardener.hidden_ring();
        case Planted::hidden_rings:
            return gardener.hidden_rings();
        case Planted::islands:
            return gardener.islands();
    }
    return {};
}

}  // namespace rm
