#include "cli/show/placement_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/show/link_tables.h"
#include "cli/show/table.h"
#include "cli/show/text.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

// Beyond these, groups and members are counted instead of listed.
constexpr int kMostGroupsShown = 4;
constexpr std::size_t kMostMembersShown = 16;
// A baseline that takes less than this part of the placement's time is mentioned.
constexpr double kClearlyLess = 0.99;

// Names the pattern only if an axis has several.
std::string phase_name(const CommPhase& phase) {
    if (phase.axis != Axis::tensor) return std::string(to_string(phase.axis));
    return phase.pattern == Pattern::ring ? "tensor rings" : "tensor all-to-all";
}

std::string device_of(const PlacementReport& report, int rank) {
    return printable(format("{}", report.placed.ranks[usize(rank)]));
}

// The separator between two ranks of a ring: !!> if the link between their nodes is degraded.
class Arrows {
public:
    Arrows(const Output& out, const PlacementReport& report) : out_(out), report_(report) {
        for (const DegradedLink& link : report.degraded)
            degraded_.insert({link.from, link.to});
    }
    std::string between(int from, int to) const {
        const auto node = [&](int rank) { return report_.placed.ranks[usize(rank)].node; };
        return degraded_.contains({node(from), node(to)}) ? out_.paint("!!>", Color::red) : ">";
    }

private:
    const Output& out_;
    const PlacementReport& report_;
    std::set<std::pair<NodeId, NodeId>> degraded_;
};

pb::Attempt attempt_of(const PlacementReport& report) {
    pb::Attempt attempt;
    *attempt.mutable_mesh() = to_proto(report.mesh);
    attempt.set_zero(report.zero);
    for (const DeviceId& device : report.placed.ranks) {
        pb::Placement& place = *attempt.add_placement();
        place.set_node_id(device.node.value);
        place.set_device(device.index);
    }
    return attempt;
}

void print_costs(const Output& out, const PlacementReport& report) {
    std::vector<Column> columns = {{"ORDER"}, {"STEP", Align::right}};
    for (const CommPhase& phase : report.traffic)
        columns.push_back({phase_name(phase), Align::right});
    columns.push_back({"SLOWER", Align::right});
    Table table(std::move(columns));
    const double least = report.placed.total.value;
    const auto add = [&](const char* name, const OrderCost& order) {
        std::vector<Cell> row = {name, to_string(order.total)};
        for (const PhaseTime& phase : order.phases)
            row.emplace_back(to_string(phase.time));
        row.emplace_back(format("{:.2}x", least > 0 ? order.total.value / least : 1));
        table.add(std::move(row));
    };
    add("placed", report.placed);
    add("registration order", report.registration);
    add("node order", report.by_node);
    table.print(out, "  ");
}

// n1:0 > n2:0 > n3:0, a long one shortened in its middle.
std::string ring_text(const PlacementReport& report, const Arrows& arrows,
                      const std::vector<int>& ranks) {
    std::string text;
    const std::size_t shown = std::min(ranks.size(), kMostMembersShown);
    for (std::size_t i = 0; i < shown; ++i) {
        if (i > 0) text += format(" {} ", arrows.between(ranks[i - 1], ranks[i]));
        text += device_of(report, ranks[i]);
    }
    return shown < ranks.size() ? format("{} > ... {} more", text, ranks.size() - shown) : text;
}

void print_rings(const Output& out, const PlacementReport& report) {
    const auto rings = groups_of(report.mesh, Axis::ring);
    if (report.mesh.size(Axis::ring) == 1) return;
    const Arrows arrows(out, report);
    out.stream << "\n  rings, each rank sending to the next and the last to the first\n";
    int shown = 0;
    for (const std::vector<int>& ring : rings) {
        if (shown++ == kMostGroupsShown) {
            out.stream << format("  ... and {} more\n", rings.size() - usize(kMostGroupsShown));
            break;
        }
        out.stream << "  " << ring_text(report, arrows, ring) << '\n';
    }
}

void print_slowest(const Output& out, const PlacementReport& report) {
    Table table({{"GROUP"}, {"RANKS"}, {"SLOWEST"}, {"WAITS-FOR"}, {"TIME", Align::right}});
    int phase = -1;
    int shown = 0;
    int hidden = 0;
    for (const GroupReport& group : report.groups) {
        if (group.phase != phase) shown = 0;
        phase = group.phase;
        if (++shown > kMostGroupsShown) {
            ++hidden;
            continue;
        }
        table.add({phase_name(report.traffic[usize(phase)]),
                   ranges_text({group.ranks.begin(), group.ranks.end()}),
                   format("{} > {}", device_of(report, group.slowest.from),
                          device_of(report, group.slowest.to)),
                   group.resource, to_string(group.time)});
    }
    if (phase < 0) return;
    out.stream << "\n  what the groups wait for, the slowest first\n";
    table.print(out, "  ");
    if (hidden > 0) out.stream << format("  ... and {} more groups (-o json)\n", hidden);
}

void print_degraded(const Output& out, const PlacementReport& report, WallTime now) {
    if (!report.degraded.empty()) out.stream << '\n';
    for (const DegradedLink& link : report.degraded) {
        out.stream << "  " << out.paint("!! degraded", Color::red)
                   << format("  {} to {}: {} instead of {}, seen {} ago\n",
                             printable(link.from.value), printable(link.to.value),
                             rate_text(link.bandwidth.value), rate_text(link.baseline.value),
                             span_text(now - link.since));
    }
}

// Compares with the two simple orders, and says whether one of them is better by now.
void print_beside(const Output& out, const PlacementReport& report, int num_free) {
    out.stream << '\n';
    if (num_free > 0) {
        out.stream << format(
            "  compared on the job's {} plus {} free {}\n",
            counted(static_cast<std::int64_t>(report.placed.ranks.size()), "device"), num_free,
            num_free == 1 ? "one" : "ones");
    }
    const Seconds best = std::min(report.registration.total, report.by_node.total);
    if (best.value >= kClearlyLess * report.placed.total.value) return;
    out.stream << format(
        "  {} would take less: links were measured or devices became free since the job was "
        "placed\n",
        report.registration.total == best ? "registration order" : "node order");
}

std::string why_nothing_is_predicted(const PlacementReport& report,
                                     const pb::PlacementReply& reply) {
    if (report.mesh.num_ranks() == 1) return "one rank: no communication";
    if (usize(reply.unsurveyed_size()) == report.hosts.size())
        return "no links are measured: `ringmaster survey`";
    return format("no links of {} are measured: `ringmaster survey`",
                  join(reply.unsurveyed(), ", ", printable));
}

Json ranks_json(const OrderCost& order) {
    Json ranks = Json::array();
    for (const DeviceId& device : order.ranks)
        ranks.push_back({{"node", device.node.value}, {"device", device.index}});
    return ranks;
}

Json cost_json(const PlacementReport& report, const OrderCost& order) {
    Json phases = Json::array();
    for (std::size_t i = 0; i < order.phases.size(); ++i) {
        const CommPhase& phase = report.traffic[i];
        Json json{{"axis", to_string(phase.axis)},
                  {"pattern", to_string(phase.pattern)},
                  {"bytes", phase.bytes.value},
                  {"messages", phase.messages},
                  {"seconds", order.phases[i].time.value}};
        if (!order.phases[i].slowest.empty()) json["slowest"] = order.phases[i].slowest;
        phases.push_back(std::move(json));
    }
    return {{"seconds", order.total.value}, {"phases", std::move(phases)}};
}

Json baseline_json(const PlacementReport& report, const OrderCost& order) {
    Json json = cost_json(report, order);
    json["ranks"] = ranks_json(order);
    return json;
}

Json groups_json(const PlacementReport& report) {
    Json groups = Json::array();
    for (const GroupReport& group : report.groups) {
        const CommPhase& phase = report.traffic[usize(group.phase)];
        groups.push_back({{"axis", to_string(phase.axis)},
                          {"pattern", to_string(phase.pattern)},
                          {"ranks", group.ranks},
                          {"slowest_from", group.slowest.from},
                          {"slowest_to", group.slowest.to},
                          {"waits_for", group.resource},
                          {"seconds", group.time.value}});
    }
    return groups;
}

constexpr std::size_t kLong = 12;
constexpr std::size_t kLeast = 8;

std::set<std::string> ids_of(const PlacementReport& report) {
    std::set<std::string> ids;
    for (const OrderCost* order : {&report.placed, &report.registration, &report.by_node}) {
        for (const DeviceId& device : order->ranks)
            ids.insert(device.node.value);
    }
    return ids;
}

std::size_t common(const std::string& a, const std::string& b) {
    const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return usize(end - a.begin());
}

// In sorted order, an id shares its longest prefix with a neighbour.
std::size_t enough_letters(const std::set<std::string>& ids) {
    std::size_t letters = kLeast;
    const std::string* before = nullptr;
    for (const std::string& id : ids) {
        if (before != nullptr) letters = std::max(letters, common(*before, id) + 1);
        before = &id;
    }
    return letters;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

// The same with long node ids cut to unique prefixes of eight letters or more, which every verb
// accepts for the whole id. Short ids stay as they are.
PlacementReport with_short_nodes(PlacementReport report) {
    const std::set<std::string> ids = ids_of(report);
    const bool all_long =
        std::all_of(ids.begin(), ids.end(), [](const auto& id) { return id.size() > kLong; });
    if (!all_long) return report;
    const std::size_t letters = enough_letters(ids);
    for (OrderCost* order : {&report.placed, &report.registration, &report.by_node}) {
        for (DeviceId& device : order->ranks)
            device.node.value.resize(std::min(letters, device.node.value.size()));
    }
    for (GroupReport& group : report.groups) {
        for (const std::string& id : ids)
            replace_all(group.resource, id, id.substr(0, letters));
    }
    for (DegradedLink& link : report.degraded) {
        for (NodeId* node : {&link.from, &link.to})
            node->value.resize(std::min(letters, node->value.size()));
    }
    return report;
}

}  // namespace

void print_placement(const Output& out, const PlacementReport& report, std::string_view how) {
    if (report.predicted) {
        out.stream << format("  communication of a step takes {} ({})\n", report.placed.total, how);
        print_costs(out, report);
        out.stream << '\n';
    }
    draw_mesh(out, attempt_of(report), report.hosts);
    const PlacementReport brief = with_short_nodes(report);
    print_rings(out, brief);
    print_slowest(out, brief);
}

Status print_attempt_placement(const Output& out, const pb::PlacementReply& reply, WallTime now) {
    RM_TRY(const PlacementReport report, from_proto(reply.placement()));
    out.stream << format("job {} attempt {}\n", reply.job_id(), reply.attempt());
    print_placement(out, report,
                    format("as of survey {}; {} of {} at context {}", reply.survey(),
                           reply.stand_in() ? "in proportion, with the bytes" : "bytes",
                           printable(reply.model()), context_text(reply.context())));
    if (!report.predicted) {
        out.stream << "\n  " << why_nothing_is_predicted(report, reply) << '\n';
        return {};
    }
    print_degraded(out, report, now);
    print_beside(out, report, reply.num_free());
    return {};
}

std::string placement_json(const PlacementReport& report, const Solution& solution) {
    Json mesh;
    for (const Axis axis : kAxes)
        mesh[std::string(to_string(axis))] = report.mesh.size(axis);
    if (report.mesh.outer_ring() > 1) mesh["inner"] = report.mesh.inner_ring();
    const Json json{{"mesh", mesh},
                    {"ranks", ranks_json(report.placed)},
                    {"predicted", cost_json(report, report.placed)},
                    {"registration_order", baseline_json(report, report.registration)},
                    {"node_order", baseline_json(report, report.by_node)},
                    {"optimal", solution.optimal},
                    {"evaluations", solution.evaluations},
                    {"groups", groups_json(report)}};
    return json.dump();
}

}  // namespace rm
