#include "planner/placement/solver/tour.h"

#include <algorithm>
#include <numeric>

#include "base/usize.h"

namespace rm {
namespace {

constexpr int kWorstEdges = 48;
constexpr int kMostMoves = 3000;
constexpr int kNearest = 12;

class Tour {
public:
    Tour(const EdgeCosts& costs, std::vector<int> nodes, int length)
        : costs_(costs),
          nodes_(std::move(nodes)),
          length_(length),
          used_(static_cast<int>(nodes_.size())),
          nearest_(nearest_of(costs, kNearest)) {
        std::vector<bool> taken(usize(costs.num_nodes()), false);
        for (const int node : nodes_)
            taken[usize(node)] = true;
        // Leftover nodes follow the cycles; their edges cost nothing.
        for (int node = 0; node < costs.num_nodes(); ++node) {
            if (!taken[usize(node)]) nodes_.push_back(node);
        }
    }

    void improve() {
        int moves = 0;
        while (moves < kMostMoves && improve_worst())
            ++moves;
    }
    double cost() const {
        double sum = 0;
        for (int position = 0; position < used_; ++position)
            sum += edge(position);
        return sum;
    }
    std::vector<int> nodes() const { return {nodes_.begin(), nodes_.begin() + used_}; }

private:
    int& node(int position) { return nodes_[usize(position)]; }
    int node(int position) const { return nodes_[usize(position)]; }
    // The position `steps` after this one on its cycle.
    int after(int position, int steps) const {
        const int first = position - position % length_;
        return first + ((position - first + steps) % length_ + length_) % length_;
    }
    double edge(int position) const { return costs_(node(position), node(after(position, 1))); }

    bool improve_worst() {
        std::vector<int> worst(usize(used_));
        std::iota(worst.begin(), worst.end(), 0);
        const auto end = worst.begin() + std::min<std::ptrdiff_t>(kWorstEdges, used_);
        std::partial_sort(worst.begin(), end, worst.end(), [&](int a, int b) {
            const double ca = edge(a);
            const double cb = edge(b);
            return ca != cb ? ca > cb : a < b;
        });
        return std::any_of(worst.begin(), end, [&](int position) {
            return exchange(position) || insert(position) || reverse(position);
        });
    }

    // A move counts as better if it saves a millionth of the cost of the edges it removes.
    struct Best {
        double saved = 0;
        int a = 0;
        int b = 0;
        int length = 0;
        void offer(double before, double now, int x, int y, int l) {
            if (before - now > std::max(saved, 1e-6 * before)) {
                saved = before - now;
                a = x;
                b = y;
                length = l;
            }
        }
    };

    // Exchanges two segments of equal length; one of them begins or ends at the edge.
    bool exchange(int position) {
        Best best;
        for (const int length : {1, 2, 4, 8}) {
            if (length >= length_) break;
            offer_exchanges(after(position, 1), length, best);
            offer_exchanges(after(position, 1 - length), length, best);
        }
        if (best.saved <= 0) return false;
        for (int i = 0; i < best.length; ++i) {
            const bool left_over = best.b >= used_;
            std::swap(node(after(best.a, i)), node(left_over ? best.b : after(best.b, i)));
        }
        return true;
    }
    void offer_exchanges(int a, int length, Best& best) const {
        const int before_a = node(after(a, -1));
        const int behind_a = node(after(a, length));
        const int first_a = node(a);
        const int last_a = node(after(a, length - 1));
        const double around_a = costs_(before_a, first_a) + costs_(last_a, behind_a);
        for (int b = 0; b < used_; ++b) {
            if (b / length_ == a / length_) {
                const int gap = ((b - a) % length_ + length_) % length_;
                // Adjacent segments would share an edge.
                if (gap <= length || length_ - gap <= length) continue;
            }
            const int before_b = node(after(b, -1));
            const int behind_b = node(after(b, length));
            const int first_b = node(b);
            const int last_b = node(after(b, length - 1));
            const double before = around_a + costs_(before_b, first_b) + costs_(last_b, behind_b);
            const double now = costs_(before_a, first_b) + costs_(last_b, behind_a) +
                               costs_(before_b, first_a) + costs_(last_a, behind_b);
            best.offer(before, now, a, b, length);
        }
        if (length > 1) return;
        for (int b = used_; b < static_cast<int>(nodes_.size()); ++b) {
            const double now = costs_(before_a, node(b)) + costs_(node(b), behind_a);
            best.offer(around_a, now, a, b, 1);
        }
    }

    // The cycle as a list that begins after the position: its edge closes the list.
    std::vector<int> unrolled(int position) const {
        std::vector<int> list;
        for (int i = 1; i <= length_; ++i)
            list.push_back(node(after(position, i)));
        return list;
    }
    void roll_up(int position, const std::vector<int>& list) {
        for (int i = 0; i < length_; ++i)
            node(after(position, i + 1)) = list[usize(i)];
    }

    // Offers to move the segment p..q of the list to its front, into the edge.
    void offer_insert(const std::vector<int>& u, int p, int q, Best& best) const {
        const auto n = [&u](int i) { return u[usize(i)]; };
        const int last = length_ - 1;
        const double before =
            costs_(n(last), n(0)) + costs_(n(p - 1), n(p)) + costs_(n(q), n(q + 1));
        const double now = costs_(n(last), n(p)) + costs_(n(q), n(0)) + costs_(n(p - 1), n(q + 1));
        best.offer(before, now, p, q, 0);
    }
    bool insert(int position) {
        if (length_ < 4) return false;
        const std::vector<int> u = unrolled(position);
        std::vector<int> place(usize(costs_.num_nodes()), -1);
        for (int i = 0; i < length_; ++i)
            place[usize(u[usize(i)])] = i;
        Best best;
        const int last = length_ - 1;
        // A good successor of the edge's sender begins the segment, or a good predecessor of its
        // receiver ends it.
        for (const int to : nearest_[usize(u.back())]) {
            const int p = place[usize(to)];
            for (int q = p; p >= 1 && q < last; ++q)
                offer_insert(u, p, q, best);
        }
        std::vector<int> ends;
        for (int q = 1; q < last; ++q)
            ends.push_back(q);
        const auto few =
            ends.begin() + std::min<std::ptrdiff_t>(kNearest, static_cast<int>(ends.size()));
        std::partial_sort(ends.begin(), few, ends.end(), [&](int x, int y) {
            const double cx = costs_(u[usize(x)], u[0]);
            const double cy = costs_(u[usize(y)], u[0]);
            return cx != cy ? cx < cy : x < y;
        });
        for (auto q = ends.begin(); q != few; ++q) {
            for (int p = 1; p <= *q; ++p)
                offer_insert(u, p, *q, best);
        }
        if (best.saved <= 0) return false;
        std::vector<int> moved(u.begin() + best.a, u.begin() + best.b + 1);
        moved.insert(moved.end(), u.begin(), u.begin() + best.a);
        moved.insert(moved.end(), u.begin() + best.b + 1, u.end());
        roll_up(position, moved);
        return true;
    }

    // Reverses the first q+1 nodes of the list.
    bool reverse(int position) {
        if (length_ < 4) return false;
        std::vector<int> u = unrolled(position);
        const auto n = [&u](int i) { return u[usize(i)]; };
        Best best;
        double there = 0;
        double back = 0;
        for (int q = 1; q < length_ - 1; ++q) {
            there += costs_(n(q - 1), n(q));
            back += costs_(n(q), n(q - 1));
            const double before = costs_(u.back(), n(0)) + there + costs_(n(q), n(q + 1));
            const double now = costs_(u.back(), n(q)) + back + costs_(n(0), n(q + 1));
            best.offer(before, now, 0, q, 0);
        }
        if (best.saved <= 0) return false;
        std::reverse(u.begin(), u.begin() + best.b + 1);
        roll_up(position, u);
        return true;
    }

    const EdgeCosts& costs_;
    std::vector<int> nodes_;
    int length_;
    int used_;
    std::vector<std::vector<int>> nearest_;
};

}  // namespace

std::vector<int> find_cycles(const EdgeCosts& costs, int num_cycles, int length) {
    std::vector<int> best;
    double least = 0;
    for (const FirstEdges first : {FirstEdges::nearest, FirstEdges::cover}) {
        Tour tour(costs, greedy_cycles(costs, num_cycles, length, first), length);
        tour.improve();
        if (!best.empty() && tour.cost() >= least) continue;
        least = tour.cost();
        best = tour.nodes();
    }
    return best;
}

}  // namespace rm
