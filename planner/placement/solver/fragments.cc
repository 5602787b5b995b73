#include <algorithm>

#include "base/usize.h"
#include "planner/placement/solver/tour.h"

namespace rm {
namespace {

constexpr int kNearest = 16;

struct Edge {
    double cost = 0;
    int from = 0;
    int to = 0;
};

// The distance from `from` to `to` by number: among equal edges, the shortest distance wins.
int distance(int from, int to, int num_nodes) {
    return (to - from + num_nodes) % num_nodes;
}

void sort_edges(std::vector<Edge>& edges, int num_nodes) {
    std::sort(edges.begin(), edges.end(), [num_nodes](const Edge& a, const Edge& b) {
        if (a.cost != b.cost) return a.cost < b.cost;
        const int da = distance(a.from, a.to, num_nodes);
        const int db = distance(b.from, b.to, num_nodes);
        return da != db ? da < db : a.from < b.from;
    });
}

// Joins nodes into paths, edge by edge.
class Fragments {
public:
    Fragments(int num_nodes, int num_cycles, int length)
        : length_(length),
          open_(num_cycles),
          next_(usize(num_nodes), -1),
          other_end_(usize(num_nodes)),
          size_(usize(num_nodes), 1),
          has_prev_(usize(num_nodes), false),
          closed_(usize(num_nodes), false) {
        for (std::size_t i = 0; i < other_end_.size(); ++i)
            other_end_[i] = static_cast<int>(i);
    }

    bool is_done() const { return open_ == 0; }
    bool is_tail(int node) const { return next_[at(node)] < 0 && !closed_[at(node)]; }
    bool is_head(int node) const { return !has_prev_[at(node)] && !closed_[at(node)]; }

    void offer(int from, int to) {
        if (!is_tail(from) || !is_head(to) || is_done()) return;
        const int head = other_end_[at(from)];
        const int tail = other_end_[at(to)];
        if (head == to) {
            if (size_[at(from)] == length_) close(to);
            return;
        }
        const int size = size_[at(from)] + size_[at(to)];
        if (size > length_) return;
        next_[at(from)] = to;
        has_prev_[at(to)] = true;
        other_end_[at(head)] = tail;
        other_end_[at(tail)] = head;
        size_[at(head)] = size_[at(tail)] = size;
    }

    // Returns the closed cycles, then cycles packed from the open paths, longest path first.
    std::vector<int> pack() {
        std::vector<std::vector<int>> paths;
        for (std::size_t i = 0; i < next_.size(); ++i) {
            if (is_head(static_cast<int>(i))) paths.push_back(path_from(static_cast<int>(i)));
        }
        std::stable_sort(paths.begin(), paths.end(),
                         [](const auto& a, const auto& b) { return a.size() > b.size(); });
        std::vector<std::vector<int>> bins(usize(open_));
        std::vector<std::vector<int>> rest;
        for (std::vector<int>& path : paths) {
            const auto bin = std::find_if(bins.begin(), bins.end(), [&](const auto& b) {
                return b.size() + path.size() <= usize(length_);
            });
            if (bin != bins.end()) {
                bin->insert(bin->end(), path.begin(), path.end());
            } else {
                rest.push_back(std::move(path));
            }
        }
        top_up(bins, rest);
        for (const std::vector<int>& bin : bins)
            cycles_.insert(cycles_.end(), bin.begin(), bin.end());
        return std::move(cycles_);
    }

private:
    static std::size_t at(int node) { return usize(node); }

    std::vector<int> path_from(int head) const {
        std::vector<int> path;
        for (int node = head; node >= 0; node = next_[at(node)])
            path.push_back(node);
        return path;
    }
    void close(int head) {
        for (const int node : path_from(head)) {
            closed_[at(node)] = true;
            cycles_.push_back(node);
        }
        --open_;
    }
    // Fills the remaining places with pieces of the paths that fit into no bin.
    void top_up(std::vector<std::vector<int>>& bins, std::vector<std::vector<int>>& rest) const {
        std::size_t path = 0;
        std::size_t taken = 0;
        for (std::vector<int>& bin : bins) {
            while (bin.size() < usize(length_)) {
                if (taken == rest[path].size()) {
                    ++path;
                    taken = 0;
                }
                bin.push_back(rest[path][taken++]);
            }
        }
    }

    int length_;
    int open_;  // number of cycles left to close
    std::vector<int> next_;
    std::vector<int> other_end_;  // of the path; valid at both of its ends
    std::vector<int> size_;       // of the path; also valid at its ends
    std::vector<bool> has_prev_;
    std::vector<bool> closed_;
    std::vector<int> cycles_;
};

void offer(const EdgeCosts& costs, std::vector<Edge>& edges, Fragments& fragments) {
    sort_edges(edges, costs.num_nodes());
    for (const Edge& edge : edges)
        fragments.offer(edge.from, edge.to);
}

std::vector<Edge> nearest_edges(const EdgeCosts& costs) {
    std::vector<Edge> edges;
    const auto nearest = nearest_of(costs, kNearest);
    for (int from = 0; from < costs.num_nodes(); ++from) {
        for (const int to : nearest[usize(from)])
            edges.push_back({costs(from, to), from, to});
    }
    return edges;
}

// Splits the successor graph into its cycles and paths.
std::vector<std::vector<int>> chains_of(const std::vector<int>& successors) {
    std::vector<bool> done(successors.size(), false);
    std::vector<bool> has_prev(successors.size(), false);
    for (const int to : successors) {
        if (to >= 0) has_prev[usize(to)] = true;
    }
    std::vector<std::vector<int>> chains;
    const auto follow = [&](std::size_t first) {
        std::vector<int>& chain = chains.emplace_back();
        for (int node = static_cast<int>(first); node >= 0 && !done[usize(node)];
             node = successors[usize(node)]) {
            done[usize(node)] = true;
            chain.push_back(node);
        }
    };
    for (std::size_t node = 0; node < successors.size(); ++node) {
        if (!has_prev[node]) follow(node);
    }
    for (std::size_t node = 0; node < successors.size(); ++node) {
        if (!done[node]) follow(node);
    }
    return chains;
}

// The offset at which cutting a cycle into cycles of `length` adds the cheapest closing edges.
std::size_t best_offset(const EdgeCosts& costs, const std::vector<int>& cycle, std::size_t length) {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t offset = 0; offset < length; ++offset) {
        double closing = 0;
        for (std::size_t first = 0; first + length <= cycle.size(); first += length) {
            closing += costs(cycle[(offset + first + length - 1) % cycle.size()],
                             cycle[(offset + first) % cycle.size()]);
        }
        if (offset > 0 && closing >= least) continue;
        least = closing;
        best = offset;
    }
    return best;
}

// The edges of the cheapest cover; cuts cycles that are too long into closed shorter ones.
std::vector<Edge> cover_edges(const EdgeCosts& costs, int cycle_length) {
    std::vector<Edge> edges;
    const auto length = usize(cycle_length);
    for (const std::vector<int>& chain : chains_of(cheapest_successors(costs, kNearest))) {
        const std::size_t offset = chain.size() > length ? best_offset(costs, chain, length) : 0;
        for (std::size_t i = 0; i < chain.size(); ++i) {
            const std::size_t piece = i - i % length;
            const bool is_last = (i + 1) % length == 0 || i + 1 == chain.size();
            const int from = chain[(offset + i) % chain.size()];
            const int to = chain[(offset + (is_last ? piece : i + 1)) % chain.size()];
            if (from != to) edges.push_back({costs(from, to), from, to});
        }
    }
    return edges;
}

std::vector<Edge> edges_between_ends(const EdgeCosts& costs, const Fragments& fragments) {
    std::vector<Edge> edges;
    for (int from = 0; from < costs.num_nodes(); ++from) {
        if (!fragments.is_tail(from)) continue;
        for (int to = 0; to < costs.num_nodes(); ++to) {
            if (to != from && fragments.is_head(to)) edges.push_back({costs(from, to), from, to});
        }
    }
    return edges;
}

}  // namespace

std::vector<std::vector<int>> nearest_of(const EdgeCosts& costs, int most) {
    const int n = costs.num_nodes();
    std::vector<std::vector<int>> nearest(usize(n));
    std::vector<int> others;
    for (int from = 0; from < n; ++from) {
        others.clear();
        for (int step = 1; step < n; ++step)
            others.push_back((from + step) % n);
        const auto end = others.begin() + std::min<std::ptrdiff_t>(most, n - 1);
        std::partial_sort(others.begin(), end, others.end(), [&](int a, int b) {
            const double ca = costs(from, a);
            const double cb = costs(from, b);
            return ca != cb ? ca < cb : distance(from, a, n) < distance(from, b, n);
        });
        nearest[usize(from)].assign(others.begin(), end);
    }
    return nearest;
}

std::vector<int> greedy_cycles(const EdgeCosts& costs, int num_cycles, int length,
                               FirstEdges first) {
    Fragments fragments(costs.num_nodes(), num_cycles, length);
    std::vector<Edge> edges =
        first == FirstEdges::cover ? cover_edges(costs, length) : nearest_edges(costs);
    offer(costs, edges, fragments);
    // A second pass: some edges can close a path only now that it is complete.
    offer(costs, edges, fragments);
    edges = edges_between_ends(costs, fragments);
    offer(costs, edges, fragments);
    return fragments.pack();
}

}  // namespace rm
