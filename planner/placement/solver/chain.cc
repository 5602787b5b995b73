#include <algorithm>
#include <cstdint>

#include "base/usize.h"
#include "planner/placement/solver/tour.h"

namespace rm {
namespace {

constexpr std::int64_t kEffort = 30'000'000;  // edges examined
constexpr std::size_t kBranches = 3;

// A partial chain: where it enters its last cycle, and the chain it extends.
struct Chained {
    double cost = 0;
    int entry = 0;    // place in the list of nodes
    int before = -1;  // index into the previous step; -1: none
    std::vector<bool> done;
};

class Chain {
public:
    Chain(const EdgeCosts& costs, const std::vector<int>& nodes, int length)
        : costs_(costs),
          nodes_(nodes),
          length_(length),
          num_places_(static_cast<int>(nodes.size())),
          num_cycles_(num_places_ / length) {
        const std::int64_t effort = kEffort / (std::int64_t{num_places_} * num_cycles_ + 1);
        width_ = usize(std::clamp<std::int64_t>(effort, 8, num_places_));
    }

    std::vector<int> nodes() {
        begin();
        for (int step = 1; step < num_cycles_; ++step)
            extend();
        return unwound();
    }

private:
    static std::size_t at(int place) { return usize(place); }
    // The last node of a cycle that is entered at `entry`.
    int exit_of(int entry) const {
        return nodes_[at(entry % length_ == 0 ? entry + length_ - 1 : entry - 1)];
    }

    void begin() {
        steps_.emplace_back();
        for (int entry = 0; entry < num_places_; ++entry) {
            Chained link{0, entry, -1, std::vector<bool>(at(num_cycles_), false)};
            link.done[at(entry / length_)] = true;
            steps_.back().push_back(std::move(link));
        }
    }

    void extend() {
        std::vector<Chained> next;
        const std::vector<Chained>& last = steps_.back();
        for (std::size_t i = 0; i < last.size(); ++i) {
            for (const int entry : nearest_entries(last[i])) {
                Chained link{last[i].cost + costs_(exit_of(last[i].entry), nodes_[at(entry)]),
                             entry, static_cast<int>(i), last[i].done};
                link.done[at(entry / length_)] = true;
                next.push_back(std::move(link));
            }
        }
        std::stable_sort(next.begin(), next.end(),
                         [](const Chained& a, const Chained& b) { return a.cost < b.cost; });
        if (next.size() > width_) next.resize(width_);
        steps_.push_back(std::move(next));
    }
    std::vector<int> nearest_entries(const Chained& link) const {
        const int from = exit_of(link.entry);
        std::vector<int> nearest;
        const auto is_nearer = [&](int a, int b) {
            const double ca = costs_(from, nodes_[at(a)]);
            const double cb = costs_(from, nodes_[at(b)]);
            return ca != cb ? ca < cb : a < b;
        };
        for (int entry = 0; entry < num_places_; ++entry) {
            if (link.done[at(entry / length_)]) continue;
            if (nearest.size() == kBranches && !is_nearer(entry, nearest.back())) continue;
            nearest.insert(std::upper_bound(nearest.begin(), nearest.end(), entry, is_nearer),
                           entry);
            if (nearest.size() > kBranches) nearest.pop_back();
        }
        return nearest;
    }

    // The cheapest closed chain, from its beginning.
    std::vector<int> unwound() const {
        std::size_t best = 0;
        double least = 0;
        for (std::size_t i = 0; i < steps_.back().size(); ++i) {
            const std::vector<int> entries = entries_of(i);
            const double closed = steps_.back()[i].cost +
                                  costs_(exit_of(entries.back()), nodes_[at(entries.front())]);
            if (i > 0 && closed >= least) continue;
            least = closed;
            best = i;
        }
        std::vector<int> chain;
        for (const int entry : entries_of(best)) {
            const int first = entry - entry % length_;
            for (int i = 0; i < length_; ++i)
                chain.push_back(nodes_[at(first + (entry - first + i) % length_)]);
        }
        return chain;
    }
    std::vector<int> entries_of(std::size_t last) const {
        std::vector<int> entries;
        int index = static_cast<int>(last);
        for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
            entries.push_back((*step)[at(index)].entry);
            index = (*step)[at(index)].before;
        }
        std::reverse(entries.begin(), entries.end());
        return entries;
    }

    const EdgeCosts& costs_;
    const std::vector<int>& nodes_;
    int length_;
    int num_places_;
    int num_cycles_;
    std::size_t width_ = 0;
    std::vector<std::vector<Chained>> steps_;
};

}  // namespace

std::vector<int> chain_cycles(const EdgeCosts& costs, const std::vector<int>& nodes, int length) {
    return Chain(costs, nodes, length).nodes();
}

}  // namespace rm
