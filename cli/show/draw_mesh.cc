#include <algorithm>
#include <map>
#include <set>

#include "cli/show/job_text.h"
#include "cli/show/placement_text.h"
#include "cli/show/table.h"
#include "cli/show/text.h"

namespace rm {
namespace {

// Beyond these the nodes after the first few are drawn as one line.
constexpr int kMostRanksDrawn = 64;
constexpr std::size_t kMostNodesDrawn = 10;

struct NodeRanks {
    std::string node;
    std::set<int> devices;
    std::set<int> ranks;
};

struct Drawing {
    Mesh mesh;
    int zero = 0;
    std::vector<std::string> node_of;  // by rank
    std::vector<NodeRanks> nodes;      // in order of their first rank
    std::map<std::string, HostOfNode> hosts;
};

Drawing drawing_of(const Mesh& mesh, const pb::Attempt& attempt,
                   const std::vector<HostOfNode>& hosts) {
    Drawing drawing{mesh, attempt.zero(), {}, {}, {}};
    for (const HostOfNode& host : hosts)
        drawing.hosts[host.node.value] = host;
    std::map<std::string, std::size_t> index;
    for (int rank = 0; rank < attempt.placement_size(); ++rank) {
        const pb::Placement& place = attempt.placement(rank);
        const auto [known, is_new] = index.emplace(place.node_id(), drawing.nodes.size());
        if (is_new) drawing.nodes.push_back({place.node_id(), {}, {}});
        NodeRanks& node = drawing.nodes[known->second];
        node.devices.insert(place.device());
        node.ranks.insert(rank);
        drawing.node_of.push_back(place.node_id());
    }
    return drawing;
}

// Whether two ranks that differ only along `axis` sit on different nodes. `leader` gives the
// coordinate of the rank that each is compared with.
template <typename Leader>
bool crosses(const Drawing& drawing, Axis axis, Leader leader) {
    const auto index = usize(axis);
    for (int rank = 0; rank < drawing.mesh.num_ranks(); ++rank) {
        Mesh::Coords coords = drawing.mesh.coords(rank);
        coords[index] = leader(coords[index]);
        const int other = drawing.mesh.rank(coords);
        if (drawing.node_of[usize(rank)] != drawing.node_of[usize(other)]) {
            return true;
        }
    }
    return false;
}

bool crosses(const Drawing& drawing, Axis axis) {
    return crosses(drawing, axis, [](int) { return 0; });
}

Cell yes_or_no(bool yes) {
    return yes ? Cell("yes", Color::yellow) : Cell("no");
}

Cell crossing(const Drawing& drawing, Axis axis) {
    const bool is_double = axis == Axis::ring && drawing.mesh.outer_ring() > 1;
    if (!is_double || !crosses(drawing, axis)) return yes_or_no(crosses(drawing, axis));
    const int inner = drawing.mesh.inner_ring();
    const bool inside = crosses(drawing, axis, [inner](int slot) { return slot / inner * inner; });
    return {inside ? "yes, inner rings too" : "only between inner rings", Color::yellow};
}

std::string what_is_cut(Axis axis, const Mesh& mesh) {
    switch (axis) {
        case Axis::data:
            return "the sequences of a step";
        case Axis::ring:
            if (mesh.outer_ring() == 1) return "the tokens of a sequence";
            return format("the tokens of a sequence, in {} rings of {}", mesh.outer_ring(),
                          mesh.inner_ring());
        case Axis::ulysses:
            return "the heads in attention, the tokens elsewhere";
        case Axis::tensor:
            return "the weights of each layer";
    }
    return "?";
}

std::string what_zero_cuts(int stage) {
    if (stage == 1) return "the optimizer's state";
    if (stage == 2) return "the optimizer's state and gradients";
    return "the optimizer's state, gradients and weights";
}

void print_axes(const Output& out, const Drawing& drawing) {
    Table table({{"AXIS"}, {"SIZE", Align::right}, {"CUTS"}, {"CROSSES-NODES"}});
    int zero_group = 1;
    bool zero_crosses = false;
    for (const Axis axis : kAxes) {
        const int size = drawing.mesh.size(axis);
        if (size == 1) continue;
        table.add({std::string(to_string(axis)), format("{}", size),
                   what_is_cut(axis, drawing.mesh), crossing(drawing, axis)});
        if (axis == Axis::tensor) continue;
        zero_group *= size;
        zero_crosses = zero_crosses || crosses(drawing, axis);
    }
    if (drawing.zero > 0) {
        table.add({format("ZeRO-{}", drawing.zero), format("{}", zero_group),
                   what_zero_cuts(drawing.zero), yes_or_no(zero_crosses)});
    }
    table.print(out, "  ");
}

// The nodes after the first few and before the last as if they were one.
std::vector<NodeRanks> collapsed(const Drawing& drawing) {
    const std::vector<NodeRanks>& nodes = drawing.nodes;
    if (drawing.mesh.num_ranks() <= kMostRanksDrawn || nodes.size() <= kMostNodesDrawn) {
        return nodes;
    }
    const auto middle = nodes.begin() + (kMostNodesDrawn - 2);
    std::vector<NodeRanks> rows(nodes.begin(), middle);
    NodeRanks& rest = rows.emplace_back();
    rest.node = format("({} nodes)", std::distance(middle, nodes.end()) - 1);
    std::for_each(middle, nodes.end() - 1, [&rest](const NodeRanks& node) {
        rest.devices.insert(node.devices.begin(), node.devices.end());
        rest.ranks.insert(node.ranks.begin(), node.ranks.end());
    });
    rows.push_back(nodes.back());
    return rows;
}

void print_nodes(const Output& out, const Drawing& drawing) {
    const std::vector<NodeRanks> nodes = collapsed(drawing);
    const auto host_of = [&](std::string HostOfNode::*text) {
        return [&drawing, text](const NodeRanks& node) {
            const auto host = drawing.hosts.find(node.node);
            return host == drawing.hosts.end() ? "" : host->second.*text;
        };
    };
    TableOf table(nodes);
    table.left("NODE", &NodeRanks::node);
    if (!drawing.hosts.empty()) {
        table.left("HOST", host_of(&HostOfNode::hostname));
        table.left("ADDRESS", host_of(&HostOfNode::address));
    }
    table.left("DEVICES", [](auto& node) { return ranges_text(node.devices); });
    table.left("RANKS", [](auto& node) { return ranges_text(node.ranks); });
    for (const Axis axis : kAxes) {
        if (drawing.mesh.size(axis) == 1) continue;
        table.left(upper(to_string(axis)), [&drawing, axis](auto& node) {
            std::set<int> coords;
            for (const int rank : node.ranks)
                coords.insert(drawing.mesh.coord(rank, axis));
            return ranges_text(coords);
        });
    }
    table.done().print(out, "  ");
}

}  // namespace

void draw_mesh(const Output& out, const pb::Attempt& attempt,
               const std::vector<HostOfNode>& hosts) {
    const auto mesh = from_proto(attempt.mesh());
    if (!mesh || mesh->num_ranks() != attempt.placement_size()) return;
    const Drawing drawing = drawing_of(*mesh, attempt, hosts);
    out.stream << "  " << mesh_text(attempt);
    if (mesh->num_ranks() > 1) {
        out.stream << format(", {} ranks on {}\n", mesh->num_ranks(),
                             counted(drawing.nodes.size(), "node"));
        print_axes(out, drawing);
    }
    out.stream << '\n';
    print_nodes(out, drawing);
}

}  // namespace rm
