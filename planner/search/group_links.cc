#include "planner/search/group_links.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "topology/placement_cost.h"
#include "topology/transfers.h"

namespace rm {
namespace {

using Groups = std::vector<std::vector<int>>;

constexpr Bytes kProbe{1 << 30};  // any size: only proportions matter

LinkSpeed speed_of(const Routes& routes, const Groups& groups, Pattern pattern,
                   std::span<const Endpoint> placement) {
    std::vector<Flow> flows;
    for (const std::vector<int>& group : groups) {
        const std::vector<Flow> own = flows_of(group, pattern, kProbe);
        flows.insert(flows.end(), own.begin(), own.end());
    }
    const double time = flows_cost(routes, flows, 0, placement).time.value;
    const double with_latency = flows_cost(routes, flows, 1, placement).time.value;
    return {{with_latency - time}, time > 0 ? static_cast<double>(kProbe.value) / time : 0};
}

LinkSpeed slower(const LinkSpeed& a, const LinkSpeed& b) {
    return {std::max(a.latency, b.latency), std::min(a.bytes_per_sec, b.bytes_per_sec)};
}

// Every ring cut into consecutive parts, and the ranks at the same place of each part.
struct DoubleRings {
    Groups inner, outer;
};
DoubleRings cut_rings(const Groups& rings, std::size_t inner) {
    DoubleRings cut;
    for (const std::vector<int>& ring : rings) {
        for (std::size_t first = 0; first < ring.size(); first += inner) {
            const auto begin = ring.begin() + static_cast<std::ptrdiff_t>(first);
            cut.inner.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(inner));
        }
        for (std::size_t place = 0; place < inner; ++place) {
            std::vector<int>& outer = cut.outer.emplace_back();
            for (std::size_t slot = place; slot < ring.size(); slot += inner)
                outer.push_back(ring[slot]);
        }
    }
    return cut;
}

// The transfers of a group key while all its groups send.
struct KeyFlows {
    GroupKey key;
    Groups groups;
    Pattern pattern = Pattern::ring;
};

std::vector<KeyFlows> flows_by_key(const Mesh& mesh) {
    std::vector<KeyFlows> keys;
    const auto add = [&](GroupKey key, Groups groups, Pattern pattern = Pattern::ring) {
        if (groups.front().size() > 1) keys.push_back({key, std::move(groups), pattern});
    };
    const Groups rings = groups_of(mesh, Axis::ring);
    add(GroupKey::ring, rings);
    DoubleRings cut = cut_rings(rings, usize(mesh.inner_ring()));
    add(GroupKey::ring_inner, std::move(cut.inner));
    add(GroupKey::ring_outer, std::move(cut.outer));
    add(GroupKey::ulysses, groups_of(mesh, Axis::ulysses), Pattern::all_to_all);
    add(GroupKey::tensor, groups_of(mesh, Axis::tensor));
    add(GroupKey::gradient, groups_of(mesh, Axis::data));
    std::vector<int> all(usize(mesh.num_ranks()));
    std::iota(all.begin(), all.end(), 0);
    add(GroupKey::world, {all});
    return keys;
}

std::vector<Transfer> transfers_of(const KeyFlows& of, std::span<const Endpoint> placement) {
    std::vector<Transfer> transfers;
    for (const std::vector<int>& group : of.groups) {
        for (const Flow& flow : flows_of(group, of.pattern, kProbe))
            transfers.push_back(
                {placement[usize(flow.from)], placement[usize(flow.to)], {flow.bytes}});
    }
    return transfers;
}

double slowest_of(const std::vector<double>& rates, std::size_t count) {
    return *std::min_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(count));
}

// How much longer the transfers of one key take while those of another move.
double slowed(const Routes& routes, const std::vector<Transfer>& own,
              const std::vector<Transfer>& others) {
    std::vector<Transfer> together = own;
    together.insert(together.end(), others.begin(), others.end());
    const double alone = slowest_of(fair_rates(routes, own), own.size());
    return alone / slowest_of(fair_rates(routes, together), own.size()) - 1;
}

// Norms and losses, the world's, are too small to be in anyone's way.
void set_sharing(const Routes& routes, const std::vector<KeyFlows>& keys,
                 std::span<const Endpoint> placement, LinkSpeeds& links) {
    constexpr double kNoMatter = 1e-3;
    std::map<GroupKey, std::vector<Transfer>> transfers;
    for (const KeyFlows& of : keys)
        if (of.key != GroupKey::world) transfers[of.key] = transfers_of(of, placement);
    for (const auto& [key, own] : transfers) {
        for (const auto& [other, others] : transfers) {
            const double more = slowed(routes, own, others);
            if (more > kNoMatter)
                links[static_cast<int>(key)].slowed_by[static_cast<int>(other)] = more;
        }
    }
}

}  // namespace

LinkSpeeds group_links(const Routes& routes, const Mesh& mesh,
                       std::span<const Endpoint> placement) {
    LinkSpeeds links;
    const std::vector<KeyFlows> keys = flows_by_key(mesh);
    for (const KeyFlows& of : keys) {
        LinkSpeed speed = speed_of(routes, of.groups, of.pattern, placement);
        if (of.key == GroupKey::tensor)
            speed = slower(speed, speed_of(routes, of.groups, Pattern::all_to_all, placement));
        links[static_cast<int>(of.key)] = speed;
    }
    set_sharing(routes, keys, placement, links);
    return links;
}

std::vector<GroupKey> keys_of(Axis axis) {
    switch (axis) {
        case Axis::data:
            return {GroupKey::gradient, GroupKey::world};
        case Axis::ring:
            return {GroupKey::ring, GroupKey::ring_inner, GroupKey::ring_outer};
        case Axis::ulysses:
            return {GroupKey::ulysses};
        case Axis::tensor:
            return {GroupKey::tensor};
    }
    return {};
}

}  // namespace rm
