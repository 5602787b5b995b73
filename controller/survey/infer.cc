#include "controller/survey/infer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/usize.h"

namespace rm {
namespace {

// Share of the capacity of a pair's ends: above it the pair is near, or as fast as modelled.
constexpr double kNear = 0.85;
// TCP flows do not share fairly: below this part of a fair share something else slows a flow.
constexpr double kExplained = 0.6;
constexpr int kRepresentatives = 2;
// Nodes of one rack differ by less: rates to other racks vary with the other flows.
constexpr double kAlike = 0.4;

using Matrix = std::vector<std::vector<double>>;

Matrix square(int size, double value) {
    return Matrix(usize(size), std::vector<double>(usize(size), value));
}

auto& cell(auto& matrix, int row, int column) {
    return matrix[usize(row)][usize(column)];
}
template <typename T>
const T& of(const std::vector<T>& values, int index) {
    return values[usize(index)];
}

// The best rate of each pair; a rate measured alone takes precedence.
Matrix best_rates(int num_nodes, const std::vector<Episode>& episodes) {
    Matrix best = square(num_nodes, 0);
    Matrix alone = square(num_nodes, 0);
    for (const Episode& episode : episodes) {
        for (const MeasuredFlow& flow : episode) {
            double& most = cell(episode.size() == 1 ? alone : best, flow.from, flow.to);
            most = std::max(most, flow.rate);
        }
    }
    for (int a = 0; a < num_nodes; ++a) {
        for (int b = 0; b < num_nodes; ++b) {
            if (cell(alone, a, b) > 0) cell(best, a, b) = cell(alone, a, b);
        }
    }
    return best;
}

double ends_of(const InferredNetwork& network, int from, int to) {
    return std::min(of(network.out, from), of(network.in, to));
}

// How near two nodes are, 0 to 1, mean of the directions that were measured; nothing: neither was.
std::optional<double> nearness(const InferredNetwork& network, const Matrix& best, int a, int b) {
    double sum = 0;
    int count = 0;
    for (const auto& [from, to] : {NodePair{a, b}, NodePair{b, a}}) {
        if (cell(best, from, to) == 0) continue;
        sum += std::min(1.0, cell(best, from, to) / ends_of(network, from, to));
        ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / count;
}

// By pair of nodes, symmetric; nothing: never measured.
using Nearness = std::vector<std::vector<std::optional<double>>>;

Nearness nearness_of(const InferredNetwork& network, const Matrix& best) {
    const int size = static_cast<int>(best.size());
    Nearness near(best.size(), std::vector<std::optional<double>>(best.size()));
    for (int a = 0; a < size; ++a) {
        for (int b = 0; b < size; ++b) {
            if (a != b) cell(near, a, b) = nearness(network, best, a, b);
        }
    }
    return near;
}

// The mean difference, 0 to 1, between how near two nodes are to each of the others.
double unlikeness(const Nearness& near, std::size_t a, std::size_t b) {
    double sum = 0;
    int count = 0;
    for (std::size_t other = 0; other < near.size(); ++other) {
        if (other == a || other == b || !near[a][other] || !near[b][other]) continue;
        sum += std::abs(*near[a][other] - *near[b][other]);
        ++count;
    }
    return count > 0 ? sum / count : 0;
}

// Corrects pairs that look near only because few other flows crossed an uplink during the
// measurement: their nodes are near different others.
Nearness corrected(const Nearness& near) {
    Nearness better = near;
    for (std::size_t a = 0; a < near.size(); ++a) {
        for (std::size_t b = 0; b < near.size(); ++b) {
            if (!near[a][b]) continue;
            const double unlike = unlikeness(near, a, b);
            if (unlike > kAlike) better[a][b] = *near[a][b] * (1 - unlike);
        }
    }
    return better;
}

// Average linkage: the two groups that are nearest are joined until none are near.
class Grouping {
public:
    Grouping(const InferredNetwork& network, const Matrix& best)
        : size_(static_cast<int>(best.size())),
          sum_(square(size_, 0)),
          count_(square(size_, 0)),
          group_(best.size()) {
        const Nearness nodes = corrected(nearness_of(network, best));
        for (int a = 0; a < size_; ++a) {
            group_[usize(a)] = a;
            for (int b = 0; b < size_; ++b) {
                const auto& near = cell(nodes, a, b);
                cell(sum_, a, b) = near.value_or(0);
                cell(count_, a, b) = near ? 1 : 0;
            }
        }
    }

    std::vector<int> groups() {
        while (const auto pair = nearest())
            join(pair->first, pair->second);
        std::map<int, int> numbers;
        for (int& group : group_)
            group = numbers.emplace(group, static_cast<int>(numbers.size())).first->second;
        return group_;
    }

private:
    bool leads(int node) const { return of(group_, node) == node; }
    std::optional<NodePair> nearest() const {
        std::optional<NodePair> best;
        double most = kNear;
        for (int a = 0; a < size_; ++a) {
            for (int b = a + 1; leads(a) && b < size_; ++b) {
                if (!leads(b) || cell(count_, a, b) == 0) continue;
                const double mean = cell(sum_, a, b) / cell(count_, a, b);
                if (mean <= most) continue;
                most = mean;
                best = {a, b};
            }
        }
        return best;
    }
    void join(int a, int b) {
        for (int other = 0; other < size_; ++other) {
            cell(sum_, a, other) += cell(sum_, b, other);
            cell(sum_, other, a) = cell(sum_, a, other);
            cell(count_, a, other) += cell(count_, b, other);
            cell(count_, other, a) = cell(count_, a, other);
        }
        std::replace(group_.begin(), group_.end(), b, a);
    }

    const int size_;
    Matrix sum_;  // symmetric, of the members of two groups
    Matrix count_;
    std::vector<int> group_;  // by node: the node that leads its group
};

// One episode's flows over a group's uplink in one direction, Gbit/s.
struct Crossing {
    double sum = 0;   // measured
    double ends = 0;  // the capacity of the same flows' ends
    int count = 0;
    bool alone = false;  // nothing else ran anywhere
};
struct Crossings {
    std::vector<Crossing> up;  // by group
    std::vector<Crossing> down;
};

void add(Crossing& crossing, const MeasuredFlow& flow, double ends, bool alone) {
    crossing.sum += flow.rate;
    crossing.ends += ends;
    ++crossing.count;
    crossing.alone = alone;
}

Crossings crossings_of(const InferredNetwork& network, const Episode& episode) {
    const std::size_t count = network.uplinks.size();
    Crossings crossings{std::vector<Crossing>(count), std::vector<Crossing>(count)};
    for (const MeasuredFlow& flow : episode) {
        const int from = of(network.group, flow.from);
        const int to = of(network.group, flow.to);
        if (from == to) continue;
        const double ends = ends_of(network, flow.from, flow.to);
        const bool alone = episode.size() == 1;
        add(crossings.up[usize(from)], flow, ends, alone);
        add(crossings.down[usize(to)], flow, ends, alone);
    }
    return crossings;
}

bool is_slowed(const Crossing& crossing) {
    return crossing.count > 0 && crossing.sum < kNear * crossing.ends;
}

// A flow that ran alone and was slower than its ends used the whole uplink. If no single flow was
// slowed, the total of several tells the rate: a high quantile rather than the maximum, since the
// flows of an episode may have begun at slightly different times.
double uplink_rate(const std::vector<Crossing>& seen) {
    double alone = 0;
    std::vector<double> together;
    for (const Crossing& crossing : seen) {
        if (!is_slowed(crossing)) continue;
        if (crossing.alone) alone = std::max(alone, crossing.sum);
        together.push_back(crossing.sum);
    }
    if (alone > 0 || together.empty()) return alone;
    std::sort(together.begin(), together.end());
    return together[together.size() * 19 / 20];
}

void find_uplinks(InferredNetwork& network, const std::vector<Episode>& episodes) {
    std::vector<std::vector<Crossing>> up(network.uplinks.size());
    std::vector<std::vector<Crossing>> down(network.uplinks.size());
    for (const Episode& episode : episodes) {
        const Crossings crossings = crossings_of(network, episode);
        for (std::size_t group = 0; group < up.size(); ++group) {
            up[group].push_back(crossings.up[group]);
            down[group].push_back(crossings.down[group]);
        }
    }
    for (std::size_t group = 0; group < up.size(); ++group)
        network.uplinks[group] = {uplink_rate(up[group]), uplink_rate(down[group])};
}

double unless_none(double rate) {
    return rate > 0 ? rate : std::numeric_limits<double>::infinity();
}

// The rate that the model predicts for a pair alone.
double modelled(const InferredNetwork& network, int from, int to) {
    const int a = of(network.group, from);
    const int b = of(network.group, to);
    const double ends = ends_of(network, from, to);
    if (a == b) return ends;
    return std::min(
        {ends, unless_none(of(network.uplinks, a).up), unless_none(of(network.uplinks, b).down)});
}

void fill_rates(InferredNetwork& network, const Matrix& best, const std::set<NodePair>& ran_alone) {
    const int size = static_cast<int>(best.size());
    for (int a = 0; a < size; ++a) {
        for (int b = 0; b < size; ++b) {
            if (a == b) continue;
            const double measured = cell(best, a, b);
            const bool near = of(network.group, a) == of(network.group, b);
            const bool stands = measured > 0 && (near || ran_alone.contains({a, b}));
            cell(network.rate, a, b) = stands ? measured : modelled(network, a, b);
        }
    }
}

std::set<NodePair> alone_pairs(const std::vector<Episode>& episodes) {
    std::set<NodePair> pairs;
    for (const Episode& episode : episodes) {
        if (episode.size() == 1) pairs.insert({episode[0].from, episode[0].to});
    }
    return pairs;
}

// The rate of a flow if all flows share every resource fairly.
double fair_share(const InferredNetwork& network, const Crossings& crossings,
                  const MeasuredFlow& flow) {
    const int a = of(network.group, flow.from);
    const int b = of(network.group, flow.to);
    const double ends = ends_of(network, flow.from, flow.to);
    if (a == b) return ends;
    return std::min({ends, unless_none(of(network.uplinks, a).up) / of(crossings.up, a).count,
                     unless_none(of(network.uplinks, b).down) / of(crossings.down, b).count});
}

}  // namespace

InferredNetwork infer_network(int num_nodes, const std::vector<Episode>& episodes,
                              Sharing sharing) {
    const Matrix best = best_rates(num_nodes, episodes);
    InferredNetwork network{.out = std::vector<double>(best.size()),
                            .in = std::vector<double>(best.size()),
                            .rate = square(num_nodes, 0)};
    for (std::size_t a = 0; a < best.size(); ++a) {
        for (std::size_t b = 0; b < best.size(); ++b) {
            network.out[a] = std::max(network.out[a], best[a][b]);
            network.in[b] = std::max(network.in[b], best[a][b]);
        }
    }
    network.group = sharing == Sharing::inferred ? Grouping(network, best).groups()
                                                 : std::vector<int>(best.size(), 0);
    const int groups =
        num_nodes == 0 ? 0 : *std::max_element(network.group.begin(), network.group.end()) + 1;
    network.uplinks.resize(usize(groups));
    if (groups > 1) find_uplinks(network, episodes);
    fill_rates(network, best, alone_pairs(episodes));
    return network;
}

std::vector<NodePair> worth_measuring_alone(const InferredNetwork& network,
                                            const std::vector<Episode>& episodes) {
    const std::set<NodePair> alone = alone_pairs(episodes);
    std::vector<NodePair> unexplained;
    std::vector<NodePair> telling;
    std::map<NodePair, int> representatives;
    for (const auto& [from, to] : alone)
        ++representatives[{of(network.group, from), of(network.group, to)}];
    for (const Episode& episode : episodes) {
        const Crossings crossings = crossings_of(network, episode);
        for (const MeasuredFlow& flow : episode) {
            const NodePair pair{flow.from, flow.to};
            if (alone.contains(pair)) continue;
            const NodePair groups{of(network.group, flow.from), of(network.group, flow.to)};
            const bool near = groups.first == groups.second;
            const double wanted = near ? kNear : kExplained;
            if (flow.rate < wanted * fair_share(network, crossings, flow)) {
                unexplained.push_back(pair);
            } else if (!near && representatives[groups]++ < kRepresentatives) {
                telling.push_back(pair);
            }
        }
    }
    unexplained.insert(unexplained.end(), telling.begin(), telling.end());
    return unexplained;
}

}  // namespace rm
