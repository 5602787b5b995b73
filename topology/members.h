#pragma once

#include "spec/member.h"
#include "topology/placement_report.h"

// Describes the members of link graphs and placement reports for every form: see spec/member.h.
namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<HostBridge> auto& bridge) {
    auto& [name, devices, up, down] = bridge;
    visit_named(visit, {"name", "devices", "up_gbit_per_s", "down_gbit_per_s"}, name, devices, up,
                down);
}

template <typename Visit>
void describe(Visit& visit, Like<NodeInterior> auto& interior) {
    auto& [num_devices, pairs, bridges] = interior;
    visit_named(visit, {"num_devices", "pairs", "bridges"}, num_devices, pairs, bridges);
}

template <typename Visit>
void describe(Visit& visit, Like<LinkNode> auto& node) {
    auto& [id, interior, egress, ingress] = node;
    visit_named(visit, {"node_id", "interior", "egress_gbit_per_s", "ingress_gbit_per_s"}, id,
                interior, egress, ingress);
}

template <typename Visit>
void describe(Visit& visit, Like<Trunk> auto& trunk) {
    auto& [name, from, to, bandwidth] = trunk;
    visit_named(visit, {"name", "from", "to", "gbit_per_s"}, name, from, to, bandwidth);
}

template <typename Visit>
void describe(Visit& visit, Like<LinkGraph> auto& graph) {
    auto& [interiors, nodes, network, trunks] = graph;
    visit_named(visit, {"interiors", "nodes", "network", "trunks"}, interiors, nodes, network,
                trunks);
}

template <typename Visit>
void describe(Visit& visit, Like<CommPhase> auto& phase) {
    auto& [axis, pattern, bytes, messages, outer_bytes, hidden] = phase;
    visit_named(visit, {"axis", "pattern", "bytes", "messages", "outer_bytes", "hidden_seconds"},
                axis, pattern, bytes, messages, outer_bytes, hidden);
}

template <typename Visit>
void describe(Visit& visit, Like<PhaseTime> auto& phase) {
    auto& [time, slowest] = phase;
    visit_named(visit, {"seconds", "slowest"}, time, slowest);
}

template <typename Visit>
void describe(Visit& visit, Like<OrderCost> auto& order) {
    auto& [ranks, total, phases] = order;
    visit_named(visit, {"ranks", "seconds", "phases"}, ranks, total, phases);
}

template <typename Visit>
void describe(Visit& visit, Like<GroupReport> auto& group) {
    auto& [phase, ranks, slowest, resource, time] = group;
    auto& [from, to, bytes] = slowest;
    visit_named(visit, {"phase", "ranks", "from", "to", "bytes", "waits_for", "seconds"}, phase,
                ranks, from, to, bytes, resource, time);
}

template <typename Visit>
void describe(Visit& visit, Like<HostOfNode> auto& host) {
    auto& [node, hostname, address] = host;
    visit_named(visit, {"node", "hostname", "address"}, node, hostname, address);
}

template <typename Visit>
void describe(Visit& visit, Like<DegradedLink> auto& link) {
    auto& [from, to, bandwidth, baseline, since] = link;
    visit_named(visit, {"from", "to", "bandwidth", "baseline", "since"}, from, to, bandwidth,
                baseline, since);
}

template <typename Visit>
void describe(Visit& visit, Like<PlacementReport> auto& report) {
    auto& [mesh, zero, hosts, placed, predicted, traffic, registration, by_node, groups, degraded] =
        report;
    visit(named("mesh", Presence::sent), mesh);
    visit_named(visit,
                {"zero", "hosts", "placed", "predicted", "phases", "registration", "by_node",
                 "groups", "degraded"},
                zero, hosts, placed, predicted, traffic, registration, by_node, groups, degraded);
}

}  // namespace rm
