#include <map>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "planner/placement/solver/construct.h"
#include "planner/placement/solver/evaluator.h"

namespace rm {
namespace {

constexpr double kNoise = 1e-9;  // of crowding, whose last digits are not exact
constexpr int kTries = 12;
constexpr int kMostDevices = 32;  // of a node; the search exchanges every pair many times

// Consecutive ranks on all devices of one node.
struct Block {
    int first = 0;
    int num_devices = 0;
    int node = 0;
    int interior = 0;
};

std::vector<Block> blocks_of(const PlacementProblem& problem,
                             const std::vector<Endpoint>& placement) {
    std::vector<Block> blocks;
    const int num_ranks = static_cast<int>(placement.size());
    for (int first = 0; first < num_ranks;) {
        const int node = placement[usize(first)].node;
        int end = first;
        while (end < num_ranks && placement[usize(end)].node == node)
            ++end;
        const int devices = problem.graph.num_devices(node);
        if (end - first == devices && devices > 1 && devices <= kMostDevices) {
            blocks.push_back({first, devices, node, problem.graph.nodes[usize(node)].interior});
        }
        first = end;
    }
    return blocks;
}

// The mesh that fits on two nodes of `num_devices` each: whole groups, in a ring if the whole mesh
// has one, otherwise side by side.
std::optional<Mesh> mesh_of_two(const Mesh& mesh, int num_devices) {
    const int ulysses = mesh.size(Axis::ulysses);
    const int tensor = mesh.size(Axis::tensor);
    if (2 * num_devices % (ulysses * tensor) != 0) return std::nullopt;
    const int groups = 2 * num_devices / (ulysses * tensor);
    const bool is_ring = mesh.size(Axis::ring) > 1;
    if (is_ring && mesh.inner_ring() % groups != 0 && groups % mesh.inner_ring() != 0) {
        return std::nullopt;
    }
    const int ring = is_ring ? std::min(groups, mesh.inner_ring()) : 1;
    return Mesh::make(groups / ring, ring, ulysses, tensor).value();
}

LinkGraph graph_of_two(const LinkGraph& graph, int a, int b) {
    LinkGraph two;
    two.interiors = {graph.interior_of(a)};
    two.nodes = {graph.nodes[usize(a)], graph.nodes[usize(b)]};
    two.nodes[0].interior = two.nodes[1].interior = 0;
    two.network = {{}, graph.between(a, b), graph.between(b, a), {}};
    return two;
}

// Searches for one order of devices that suits two identical nodes.
class TwoNodes {
public:
    TwoNodes(const PlacementProblem& problem, std::uint64_t seed)
        : routes_(problem.graph),
          evaluator_(routes_, problem),
          rng_(seed),
          num_devices_(usize(problem.graph.num_devices(0))) {}

    std::vector<int> best_order(const std::vector<int>& start) {
        take(start);
        evaluator_.calibrate();
        std::vector<int> best = start;
        Value least = value();
        // Starts from several orders, because each descent ends in a local minimum.
        for (int tries = 0; tries < kTries; ++tries) {
            if (tries > 0) shuffle();
            while (descend()) {
            }
            if (!is_less(value(), least)) continue;
            least = value();
            best = order_;
        }
        return best;
    }

private:
    struct Value {
        PlacementScore score;
        double crowding = 0;
    };
    static bool is_less(const Value& a, const Value& b) {
        if (a.score.time != b.score.time) return a.score.time < b.score.time;
        return a.crowding < b.crowding * (1 - kNoise);
    }
    Value value() { return {evaluator_.score(), evaluator_.crowding()}; }

    void take(const std::vector<int>& order) {
        order_ = order;
        std::vector<Endpoint> placement;
        for (const int node : {0, 1}) {
            for (const int device : order_)
                placement.push_back({node, device});
        }
        evaluator_.place(placement);
    }
    void shuffle() {
        std::vector<int> order = order_;
        for (std::size_t i = num_devices_ - 1; i > 0; --i)
            std::swap(order[i], order[rng_.below(i + 1)]);
        take(order);
    }
    // Tries every exchange of two devices once and keeps improvements; returns whether it kept any.
    bool descend() {
        bool better = false;
        for (std::size_t a = 0; a < num_devices_; ++a) {
            for (std::size_t b = a + 1; b < num_devices_; ++b) {
                const Value before = value();
                std::vector<int> order = order_;
                std::swap(order[a], order[b]);
                take(order);
                if (is_less(value(), before)) {
                    better = true;
                    continue;
                }
                std::swap(order[a], order[b]);
                take(order);
            }
        }
        return better;
    }

    const Routes routes_;
    Evaluator evaluator_;
    Rng rng_;
    std::size_t num_devices_;
    std::vector<int> order_;
};

std::vector<int> order_of(const std::vector<Endpoint>& placement, const Block& block) {
    std::vector<int> order;
    for (int i = 0; i < block.num_devices; ++i)
        order.push_back(placement[usize(block.first + i)].device);
    return order;
}

// By interior, found on the first two consecutive blocks that have it.
std::map<int, std::vector<int>> best_orders(const PlacementProblem& problem,
                                            const std::vector<Endpoint>& placement,
                                            const std::vector<Block>& blocks, std::uint64_t seed) {
    std::map<int, std::vector<int>> orders;
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
        const Block& a = blocks[i];
        const Block& b = blocks[i + 1];
        if (a.interior != b.interior || orders.contains(a.interior)) continue;
        const std::optional<Mesh> mesh = mesh_of_two(problem.mesh, a.num_devices);
        if (!mesh) continue;
        const LinkGraph graph = graph_of_two(problem.graph, a.node, b.node);
        const PlacementProblem two{graph, *mesh, problem.traffic};
        orders[a.interior] = TwoNodes(two, seed).best_order(order_of(placement, a));
    }
    return orders;
}

}  // namespace

std::vector<Endpoint> order_inside_nodes(const PlacementProblem& problem,
                                         const std::vector<Endpoint>& placement,
                                         std::uint64_t seed) {
    const std::vector<Block> blocks = blocks_of(problem, placement);
    const std::map<int, std::vector<int>> orders = best_orders(problem, placement, blocks, seed);
    std::vector<Endpoint> ordered = placement;
    for (const Block& block : blocks) {
        const auto found = orders.find(block.interior);
        if (found == orders.end()) continue;
        for (int i = 0; i < block.num_devices; ++i) {
            ordered[usize(block.first + i)].device = found->second[usize(i)];
        }
    }
    return ordered;
}

}  // namespace rm
