#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "base/usize.h"
#include "planner/placement/solver/tour.h"

namespace rm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::vector<int>> sparse_edges(const EdgeCosts& costs, int most) {
    const int n = costs.num_nodes();
    EdgeCosts backwards(n);
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b < n; ++b)
            backwards.at(a, b) = static_cast<float>(costs(b, a));
    }
    std::vector<std::vector<int>> edges = nearest_of(costs, most);
    const std::vector<std::vector<int>> in = nearest_of(backwards, most);
    for (int to = 0; to < n; ++to) {
        for (const int from : in[usize(to)])
            edges[usize(from)].push_back(to);
    }
    for (std::vector<int>& out : edges) {
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
    }
    return edges;
}

class Assignment {
public:
    Assignment(const EdgeCosts& costs, int most)
        : costs_(costs),
          edges_(sparse_edges(costs, most)),
          price_(edges_.size(), 0),
          successor_(edges_.size(), -1),
          predecessor_(edges_.size(), -1) {
        for (std::size_t from = 0; from < edges_.size(); ++from) {
            double least = kInfinity;
            for (const int to : edges_[from])
                least = std::min(least, costs(static_cast<int>(from), to));
            base_.push_back(least);
        }
    }

    std::vector<int> solve() {
        for (std::size_t from = 0; from < edges_.size(); ++from)
            augment(static_cast<int>(from));
        return std::move(successor_);
    }

private:
    static std::size_t at(int node) { return usize(node); }

    // Finds the cheapest path from a node without a successor to one without a predecessor. Its
    // edges alternate between outside and inside the cover; then they change roles.
    void augment(int start) {
        std::vector<double> distance(edges_.size(), kInfinity);
        std::vector<int> reached_from(edges_.size(), -1);
        std::vector<int> done;
        using Entry = std::pair<double, int>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
        const auto relax = [&](int from, double so_far) {
            for (const int to : edges_[at(from)]) {
                const double reduced =
                    std::max(0.0, costs_(from, to) - base_[at(from)] - price_[at(to)]);
                if (so_far + reduced >= distance[at(to)]) continue;
                distance[at(to)] = so_far + reduced;
                reached_from[at(to)] = from;
                queue.emplace(distance[at(to)], to);
            }
        };
        relax(start, 0);
        while (!queue.empty()) {
            const auto [so_far, to] = queue.top();
            queue.pop();
            if (so_far > distance[at(to)]) continue;
            if (predecessor_[at(to)] < 0) {
                update_prices(start, so_far, done, distance);
                change_roles(start, to, reached_from);
                return;
            }
            done.push_back(to);
            relax(predecessor_[at(to)], so_far);
        }
    }
    void update_prices(int start, double length, const std::vector<int>& done,
                       const std::vector<double>& distance) {
        base_[at(start)] += length;
        for (const int to : done) {
            base_[at(predecessor_[at(to)])] += length - distance[at(to)];
            price_[at(to)] -= length - distance[at(to)];
        }
    }
    void change_roles(int start, int to, const std::vector<int>& reached_from) {
        for (;;) {
            const int from = reached_from[at(to)];
            const int next = successor_[at(from)];
            successor_[at(from)] = to;
            predecessor_[at(to)] = from;
            if (from == start) return;
            to = next;
        }
    }

    const EdgeCosts& costs_;
    std::vector<std::vector<int>> edges_;
    std::vector<double> base_;   // of senders
    std::vector<double> price_;  // of receivers
    std::vector<int> successor_;
    std::vector<int> predecessor_;
};

}  // namespace

std::vector<int> cheapest_successors(const EdgeCosts& costs, int most) {
    return Assignment(costs, most).solve();
}

}  // namespace rm
