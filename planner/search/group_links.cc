#include "planner/search/group_links.h"

#include <algorithm>

#include "engine/comm/communicator.h"
#include "topology/placement_cost.h"

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

}  // namespace

LinkSpeeds group_links(const Routes& routes, const Mesh& mesh,
                       std::span<const Endpoint> placement) {
    LinkSpeeds links;
    const auto set = [&](GroupKey key, const Groups& groups, Pattern pattern = Pattern::ring) {
        if (groups.front().size() < 2) return;
        links[static_cast<int>(key)] = speed_of(routes, groups, pattern, placement);
    };
    const Groups rings = groups_of(mesh, Axis::ring);
    set(GroupKey::ring, rings);
    const DoubleRings cut = cut_rings(rings, usize(mesh.inner_ring()));
    set(GroupKey::ring_inner, cut.inner);
    set(GroupKey::ring_outer, cut.outer);
    set(GroupKey::ulysses, groups_of(mesh, Axis::ulysses), Pattern::all_to_all);
    const Groups tensors = groups_of(mesh, Axis::tensor);
    if (tensors.front().size() > 1) {
        links[static_cast<int>(GroupKey::tensor)] =
            slower(speed_of(routes, tensors, Pattern::ring, placement),
                   speed_of(routes, tensors, Pattern::all_to_all, placement));
    }
    set(GroupKey::gradient, groups_of(mesh, Axis::data));
    std::vector<int> all(usize(mesh.num_ranks()));
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        all[rank] = static_cast<int>(rank);
    set(GroupKey::world, {all});
    return links;
}

}  // namespace rm
