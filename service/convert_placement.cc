#include <google/protobuf/timestamp.pb.h>

#include <algorithm>

#include "ringmaster/v1/topology.pb.h"
#include "service/convert.h"

namespace rm {
namespace {

void fill(pb::OrderCost& out, const OrderCost& order) {
    for (const DeviceId& device : order.ranks) {
        pb::DeviceOfRank& rank = *out.add_ranks();
        rank.set_node(device.node.value);
        rank.set_device(device.index);
    }
    out.set_seconds(order.total.value);
    for (const PhaseTime& phase : order.phases) {
        pb::PhaseCost& cost = *out.add_phases();
        cost.set_seconds(phase.time.value);
        cost.set_slowest(phase.slowest);
    }
}

OrderCost order_from(const pb::OrderCost& order) {
    OrderCost out;
    for (const pb::DeviceOfRank& rank : order.ranks())
        out.ranks.push_back({{rank.node()}, rank.device()});
    out.total = {order.seconds()};
    for (const pb::PhaseCost& phase : order.phases())
        out.phases.push_back({{phase.seconds()}, phase.slowest()});
    return out;
}

void fill(pb::StepPhase& out, const CommPhase& phase) {
    out.set_axis(std::string(to_string(phase.axis)));
    out.set_pattern(std::string(to_string(phase.pattern)));
    out.set_bytes(phase.bytes.value);
    out.set_messages(phase.messages);
    out.set_outer_bytes(phase.outer_bytes.value);
}

Result<CommPhase> phase_from(const pb::StepPhase& phase) {
    CommPhase out;
    const auto axis = std::find_if(kAxes.begin(), kAxes.end(),
                                   [&](Axis known) { return to_string(known) == phase.axis(); });
    if (axis == kAxes.end()) {
        return invalid_argument("axis '{}' is not known; data, ring, ulysses or tensor",
                                phase.axis());
    }
    out.axis = *axis;
    out.pattern = Pattern::ring;
    if (phase.pattern() == to_string(Pattern::all_to_all)) {
        out.pattern = Pattern::all_to_all;
    } else if (phase.pattern() != to_string(Pattern::ring)) {
        return invalid_argument("pattern '{}' is not known; ring or all_to_all", phase.pattern());
    }
    out.bytes = {phase.bytes()};
    out.messages = phase.messages();
    out.outer_bytes = {phase.outer_bytes()};
    return out;
}

void fill(pb::GroupWait& out, const GroupReport& group) {
    out.set_phase(group.phase);
    for (const int rank : group.ranks)
        out.add_ranks(rank);
    out.set_from(group.slowest.from);
    out.set_to(group.slowest.to);
    out.set_bytes(group.slowest.bytes);
    out.set_waits_for(group.resource);
    out.set_seconds(group.time.value);
}

GroupReport group_from(const pb::GroupWait& group) {
    return {.phase = group.phase(),
            .ranks = {group.ranks().begin(), group.ranks().end()},
            .slowest = {group.from(), group.to(), group.bytes()},
            .resource = group.waits_for(),
            .time = {group.seconds()}};
}

void fill(pb::DegradedLink& out, const DegradedLink& link) {
    out.set_from(link.from.value);
    out.set_to(link.to.value);
    out.set_bandwidth(link.bandwidth.value);
    out.set_baseline(link.baseline.value);
    *out.mutable_since() = to_proto(link.since);
}

DegradedLink degraded_from(const pb::DegradedLink& link) {
    return {.from = {link.from()},
            .to = {link.to()},
            .bandwidth = {link.bandwidth()},
            .baseline = {link.baseline()},
            .since = from_proto(link.since())};
}

// Ranks, nodes and phases that reports name by number are there.
Status check_numbers(const PlacementReport& report) {
    const int num_ranks = report.mesh.num_ranks();
    const auto wrong = [](int number, std::size_t count) {
        return number < 0 || static_cast<std::size_t>(number) >= count;
    };
    for (const OrderCost* order : {&report.placed, &report.registration, &report.by_node}) {
        const bool is_there = report.predicted || order == &report.placed;
        const auto wanted = static_cast<std::size_t>(is_there ? num_ranks : 0);
        if (order->ranks.size() != wanted) {
            return invalid_argument("an order has {} ranks, the mesh {}", order->ranks.size(),
                                    num_ranks);
        }
        if (order->phases.size() != report.traffic.size()) {
            return invalid_argument("an order has {} phases, the step {}", order->phases.size(),
                                    report.traffic.size());
        }
    }
    for (const GroupReport& group : report.groups) {
        bool is_wrong = wrong(group.phase, report.traffic.size());
        for (const int rank : group.ranks)
            is_wrong = is_wrong || wrong(rank, report.placed.ranks.size());
        for (const int rank : {group.slowest.from, group.slowest.to})
            is_wrong = is_wrong || wrong(rank, report.placed.ranks.size());
        if (is_wrong) return invalid_argument("a group names a phase or a rank that is not there");
    }
    return {};
}

}  // namespace

pb::PlacementReport to_proto(const PlacementReport& report) {
    pb::PlacementReport out;
    *out.mutable_mesh() = to_proto(report.mesh);
    out.set_zero(report.zero);
    for (const HostOfNode& host : report.hosts) {
        pb::HostOfNode& added = *out.add_hosts();
        added.set_node(host.node.value);
        added.set_hostname(host.hostname);
        added.set_address(host.address);
    }
    out.set_predicted(report.predicted);
    for (const CommPhase& phase : report.traffic)
        fill(*out.add_phases(), phase);
    fill(*out.mutable_placed(), report.placed);
    fill(*out.mutable_registration(), report.registration);
    fill(*out.mutable_by_node(), report.by_node);
    for (const GroupReport& group : report.groups)
        fill(*out.add_groups(), group);
    for (const DegradedLink& link : report.degraded)
        fill(*out.add_degraded(), link);
    return out;
}

Result<PlacementReport> from_proto(const pb::PlacementReport& report) {
    PlacementReport out;
    RM_TRY(out.mesh, from_proto(report.mesh()));
    out.zero = report.zero();
    for (const pb::HostOfNode& host : report.hosts())
        out.hosts.push_back({{host.node()}, host.hostname(), host.address()});
    out.predicted = report.predicted();
    for (const pb::StepPhase& phase : report.phases()) {
        RM_TRY(const CommPhase read, phase_from(phase));
        out.traffic.push_back(read);
    }
    out.placed = order_from(report.placed());
    out.registration = order_from(report.registration());
    out.by_node = order_from(report.by_node());
    for (const pb::GroupWait& group : report.groups())
        out.groups.push_back(group_from(group));
    for (const pb::DegradedLink& link : report.degraded())
        out.degraded.push_back(degraded_from(link));
    RM_RETURN_IF_ERROR(check_numbers(out));
    return out;
}

}  // namespace rm
