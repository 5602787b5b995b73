#include "planner/placement/inside_nodes.h"

#include <map>

#include "base/random.h"

namespace rm {
namespace {

constexpr double kNoise = 1e-9;  // of crowding, whose last digits are not exact
constexpr int kTries = 8;

// Consecutive ranks that have all devices of one node.
struct Block {
    int first = 0;
    int num_devices = 0;
    int node = 0;
};

std::vector<Block> blocks_of(const PlacementProblem& problem,
                             const std::vector<Endpoint>& placement) {
    std::vector<Block> blocks;
    const int num_ranks = static_cast<int>(placement.size());
    for (int first = 0; first < num_ranks;) {
        const int node = placement[static_cast<std::size_t>(first)].node;
        int end = first;
        while (end < num_ranks && placement[static_cast<std::size_t>(end)].node == node)
            ++end;
        const int devices = problem.graph.num_devices(node);
        if (end - first == devices && devices > 1) blocks.push_back({first, devices, node});
        first = end;
    }
    return blocks;
}

class OneNode {
public:
    OneNode(Evaluator& evaluator, const Block& block, std::uint64_t seed, std::int64_t& budget)
        : evaluator_(evaluator), block_(block), rng_(seed), budget_(budget) {}

    // The best order of devices found; the evaluator is left as it was.
    std::vector<int> best_order() {
        const std::vector<int> start = order();
        std::vector<int> best = start;
        double least = evaluator_.crowding();
        // From several orders, as a descent ends in the nearest valley.
        for (int tries = 0; tries < kTries && budget_ > 0; ++tries) {
            if (tries > 0) shuffle();
            while (budget_ > 0 && descend()) {
            }
            if (evaluator_.crowding() < least * (1 - kNoise)) {
                least = evaluator_.crowding();
                best = order();
            }
        }
        take(start);
        return best;
    }

private:
    std::vector<int> order() const {
        std::vector<int> devices;
        for (int i = 0; i < block_.num_devices; ++i)
            devices.push_back(at(block_.first + i).device);
        return devices;
    }
    void take(const std::vector<int>& order) {
        std::vector<RankMove> moves;
        for (int i = 0; i < block_.num_devices; ++i)
            moves.push_back({block_.first + i, {block_.node, order[static_cast<std::size_t>(i)]}});
        evaluator_.move(moves);
    }
    void shuffle() {
        std::vector<int> devices = order();
        for (std::size_t i = devices.size() - 1; i > 0; --i)
            std::swap(devices[i], devices[rng_.below(i + 1)]);
        take(devices);
    }
    Endpoint at(int rank) const { return evaluator_.placement()[static_cast<std::size_t>(rank)]; }

    // Every exchange of two ranks once; those that help are kept. Whether any did.
    bool descend() {
        bool better = false;
        const int end = block_.first + block_.num_devices;
        for (int a = block_.first; a < end; ++a) {
            for (int b = a + 1; b < end && budget_ > 0; ++b)
                better = exchange(a, b) || better;
        }
        return better;
    }
    bool exchange(int a, int b) {
        const double before = evaluator_.crowding();
        const Endpoint at_a = at(a);
        const Endpoint at_b = at(b);
        const RankMove there[] = {{a, at_b}, {b, at_a}};
        evaluator_.move(there);
        --budget_;
        if (evaluator_.crowding() < before * (1 - kNoise)) return true;
        const RankMove back[] = {{a, at_a}, {b, at_b}};
        evaluator_.move(back);
        return false;
    }

    Evaluator& evaluator_;
    const Block& block_;
    Rng rng_;
    std::int64_t& budget_;
};

}  // namespace

std::int64_t order_inside_nodes(const PlacementProblem& problem, Evaluator& evaluator,
                                std::uint64_t seed, std::int64_t budget) {
    const std::vector<Endpoint> start = evaluator.placement();
    const PlacementScore before = evaluator.score();
    std::int64_t left = budget;
    std::map<int, std::vector<int>> orders;  // by interior
    std::vector<Endpoint> placement = start;
    for (const Block& block : blocks_of(problem, start)) {
        const int interior = problem.graph.nodes[static_cast<std::size_t>(block.node)].interior;
        auto found = orders.find(interior);
        if (found == orders.end()) {
            OneNode node(evaluator, block, seed, left);
            found = orders.emplace(interior, node.best_order()).first;
        }
        for (int i = 0; i < block.num_devices; ++i) {
            placement[static_cast<std::size_t>(block.first + i)].device =
                found->second[static_cast<std::size_t>(i)];
        }
    }
    evaluator.place(placement);
    if (before < evaluator.score()) evaluator.place(start);
    return budget - left;
}

}  // namespace rm
