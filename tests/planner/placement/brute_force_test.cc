#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "planner/placement/solver.h"

namespace rm {
namespace {

struct Case {
    LinkGraph graph;
    Mesh mesh;
    StepTraffic traffic;
};

// Small graphs with some of everything: several devices, NICs, bridges, cables, flow limits, links
// that are all equal or all different.
class RandomCase {
public:
    explicit RandomCase(std::uint64_t seed) : rng_(seed) {}

    LinkGraph graph(int num_devices) {
        const int per_node = num_devices % 2 == 0 && rng_.below(2) == 0 ? 2 : 1;
        const int num_nodes = num_devices / per_node;
        std::vector<NodeId> ids;
        for (int i = 0; i < num_nodes; ++i)
            ids.push_back({format("n{}", (i * 5 + 3) % 7 + i)});
        LinkGraph graph = uniform_graph(ids, per_node, {{10}, {}, {1e-5}}, {{50}, {}, {}});
        const bool alike = rng_.below(3) == 0;
        for (Link& link : graph.network) {
            if (!alike) link = {rate(), maybe_rate(), {rng_.uniform() * 1e-3}};
        }
        for (LinkNode& node : graph.nodes) {
            node.egress = maybe_rate();
            node.ingress = maybe_rate();
        }
        if (per_node > 1 && rng_.below(2) == 0) {
            graph.interiors[0].bridges.push_back({"p0", {0}, rate(), rate()});
        }
        if (num_nodes > 2 && rng_.below(2) == 0) {
            const int cut =
                1 + static_cast<int>(rng_.below(static_cast<std::uint64_t>(num_nodes - 1)));
            std::vector<int> rack(static_cast<std::size_t>(cut));
            std::iota(rack.begin(), rack.end(), 0);
            graph.trunks.push_back({"out", rack, {}, rate()});
            graph.trunks.push_back({"in", {}, rack, rate()});
        }
        return graph;
    }

    StepTraffic traffic() {
        const auto bytes = [&] { return Bytes{static_cast<std::int64_t>(rng_.below(1'000'000))}; };
        StepTraffic traffic = {{Axis::tensor, Pattern::all_to_all, bytes(), 1},
                               {Axis::tensor, Pattern::ring, bytes(), 2},
                               {Axis::ulysses, Pattern::all_to_all, bytes(), 1},
                               {Axis::ring, Pattern::ring, bytes(), 3, bytes()},
                               {Axis::data, Pattern::ring, bytes(), 2}};
        for (CommPhase& phase : traffic)
            if (rng_.below(3) == 0) phase.hidden = {rng_.uniform() * 1e-3};
        return traffic;
    }

private:
    GbitPerSec rate() { return {1 + static_cast<double>(rng_.below(20))}; }
    GbitPerSec maybe_rate() { return rng_.below(2) == 0 ? rate() : GbitPerSec{}; }

    Rng rng_;
};

// All meshes of at most `num_devices` ranks.
std::vector<Mesh> meshes_that_fit(int num_devices) {
    std::vector<Mesh> meshes;
    for (int data = 1; data <= num_devices; ++data) {
        for (int ring = 1; data * ring <= num_devices; ++ring) {
            for (int ulysses = 1; data * ring * ulysses <= num_devices; ++ulysses) {
                for (int tensor = 1; data * ring * ulysses * tensor <= num_devices; ++tensor)
                    meshes.push_back(Mesh::make(data, ring, ulysses, tensor).value());
            }
        }
    }
    return meshes;
}

// Costs every ordered choice of devices separately, by the longest time that any resource takes.
// Leaves out only phases that can no longer matter. Independent of the solver.
class BruteForce {
public:
    explicit BruteForce(const Case& c) : case_(c), routes_(c.graph) {
        for (int node = 0; node < c.graph.num_nodes(); ++node) {
            for (int device = 0; device < c.graph.num_devices(node); ++device)
                devices_.push_back({node, device});
        }
        for (const Endpoint& from : devices_) {
            for (const Endpoint& to : devices_)
                ways_.push_back(routes_.route(from, to));
        }
        for (int r = 0; r < routes_.num_resources(); ++r)
            seconds_per_byte_.push_back(routes_.seconds_per_byte(r));
        load_.assign(seconds_per_byte_.size(), 0);
        for (const CommPhase& phase : c.traffic)
            flows_.push_back(flows_of(c.mesh, phase));
    }

    double least() {
        std::vector<bool> used(devices_.size(), false);
        std::vector<int> chosen;
        choose(used, chosen);
        return least_;
    }

private:
    void choose(std::vector<bool>& used, std::vector<int>& chosen) {
        if (static_cast<int>(chosen.size()) == case_.mesh.num_ranks()) {
            least_ = std::min(least_, time_of(chosen));
            return;
        }
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            if (used[d]) continue;
            used[d] = true;
            chosen.push_back(static_cast<int>(d));
            choose(used, chosen);
            chosen.pop_back();
            used[d] = false;
        }
    }
    double time_of(const std::vector<int>& chosen) {
        double total = 0;
        for (std::size_t p = 0; p < flows_.size() && total < least_; ++p)
            total += exposed(case_.traffic[p],
                             {phase_time(flows_[p], case_.traffic[p].messages, chosen)})
                         .value;
        return total;
    }
    double phase_time(const std::vector<Flow>& flows, std::int64_t messages,
                      const std::vector<int>& chosen) {
        double slowest = 0;
        double latency = 0;
        for (const Flow& flow : flows) {
            const Route& way = way_of(flow, chosen);
            latency = std::max(latency, way.latency);
            slowest = std::max(slowest, static_cast<double>(flow.bytes) / way.flow);
            way.for_each([&](int r) {
                double& load = load_[static_cast<std::size_t>(r)];
                load += static_cast<double>(flow.bytes);
                slowest = std::max(slowest, load * seconds_per_byte_[static_cast<std::size_t>(r)]);
            });
        }
        for (const Flow& flow : flows)
            way_of(flow, chosen).for_each([&](int r) { load_[static_cast<std::size_t>(r)] = 0; });
        return slowest + static_cast<double>(messages) * latency;
    }
    const Route& way_of(const Flow& flow, const std::vector<int>& chosen) const {
        const auto from = static_cast<std::size_t>(chosen[static_cast<std::size_t>(flow.from)]);
        const auto to = static_cast<std::size_t>(chosen[static_cast<std::size_t>(flow.to)]);
        return ways_[from * devices_.size() + to];
    }

    const Case& case_;
    const Routes routes_;
    std::vector<Endpoint> devices_;
    std::vector<Route> ways_;
    std::vector<double> seconds_per_byte_;
    std::vector<double> load_;
    std::vector<std::vector<Flow>> flows_;
    double least_ = 1e300;
};

TEST(Placement, OfSmallGraphsIsWhatBruteForceFinds) {
    int cases = 0;
    // Few large ones: a mesh of 8 has 40,320 placements.
    const std::vector<std::pair<int, int>> plan = {{2, 20}, {3, 40}, {4, 40}, {5, 20},
                                                   {6, 10}, {7, 2},  {8, 1}};
    for (const auto& [num_devices, num_graphs] : plan) {
        for (int g = 0; g < num_graphs; ++g) {
            const auto seed = static_cast<std::uint64_t>(num_devices * 1000 + g);
            RandomCase random(seed);
            Case c{random.graph(num_devices), {}, {}};
            for (const Mesh& mesh : meshes_that_fit(num_devices)) {
                c.mesh = mesh;
                c.traffic = random.traffic();
                const double least = BruteForce(c).least();
                const std::string name =
                    format("seed {}, {} devices, {}", seed, num_devices, to_string(mesh));
                const PlacementProblem problem{c.graph, c.mesh, c.traffic};
                const auto exact = solve_placement(problem, {.seed = seed, .budget = 100});
                ASSERT_TRUE(exact) << name << ": " << exact.error().message;
                ASSERT_TRUE(check_solution(problem, *exact)) << name;
                ASSERT_TRUE(exact->optimal) << name;
                ASSERT_DOUBLE_EQ(exact->cost.total.value, least) << name;
                const auto searched =
                    solve_placement(problem, {.seed = seed, .budget = 100, .exact_budget = 0});
                ASSERT_TRUE(searched && check_solution(problem, *searched)) << name;
                ASSERT_GE(searched->cost.total.value, least * (1 - 1e-12)) << name;
                ++cases;
            }
        }
    }
    RecordProperty("cases", cases);
    std::cout << cases << " cases\n";
    EXPECT_GE(cases, 2000);
}

}  // namespace
}  // namespace rm
