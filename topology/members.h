#pragma once

#include "spec/member.h"
#include "topology/placement_report.h"

// The members of link graphs and of placement reports, for every form: see spec/member.h.
namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<HostBridge> auto& bridge) {
    auto& [name, devices, up, down] = bridge;
    visit(named("name"), name);
    visit(named("devices"), devices);
    visit(named("up_gbit_per_s"), up);
    visit(named("down_gbit_per_s"), down);
}

template <typename Visit>
void describe(Visit& visit, Like<NodeInterior> auto& interior) {
    auto& [num_devices, pairs, bridges] = interior;
    visit(named("num_devices"), num_devices);
    visit(named("pairs"), pairs);
    visit(named("bridges"), bridges);
}

template <typename Visit>
void describe(Visit& visit, Like<LinkNode> auto& node) {
    auto& [id, interior, egress, ingress] = node;
    visit(named("node_id"), id);
    visit(named("interior"), interior);
    visit(named("egress_gbit_per_s"), egress);
    visit(named("ingress_gbit_per_s"), ingress);
}

template <typename Visit>
void describe(Visit& visit, Like<Trunk> auto& trunk) {
    auto& [name, from, to, bandwidth] = trunk;
    visit(named("name"), name);
    visit(named("from"), from);
    visit(named("to"), to);
    visit(named("gbit_per_s"), bandwidth);
}

template <typename Visit>
void describe(Visit& visit, Like<LinkGraph> auto& graph) {
    auto& [interiors, nodes, network, trunks] = graph;
    visit(named("interiors"), interiors);
    visit(named("nodes"), nodes);
    visit(named("network"), network);
    visit(named("trunks"), trunks);
}

template <typename Visit>
void describe(Visit& visit, Like<CommPhase> auto& phase) {
    auto& [axis, pattern, bytes, messages, outer_bytes] = phase;
    visit(named("axis"), axis);
    visit(named("pattern"), pattern);
    visit(named("bytes"), bytes);
    visit(named("messages"), messages);
    visit(named("outer_bytes"), outer_bytes);
}

template <typename Visit>
void describe(Visit& visit, Like<PhaseTime> auto& phase) {
    auto& [time, slowest] = phase;
    visit(named("seconds"), time);
    visit(named("slowest"), slowest);
}

template <typename Visit>
void describe(Visit& visit, Like<OrderCost> auto& order) {
    auto& [ranks, total, phases] = order;
    visit(named("ranks"), ranks);
    visit(named("seconds"), total);
    visit(named("phases"), phases);
}

template <typename Visit>
void describe(Visit& visit, Like<GroupReport> auto& group) {
    auto& [phase, ranks, slowest, resource, time] = group;
    auto& [from, to, bytes] = slowest;
    visit(named("phase"), phase);
    visit(named("ranks"), ranks);
    visit(named("from"), from);
    visit(named("to"), to);
    visit(named("bytes"), bytes);
    visit(named("waits_for"), resource);
    visit(named("seconds"), time);
}

template <typename Visit>
void describe(Visit& visit, Like<HostOfNode> auto& host) {
    auto& [node, hostname, address] = host;
    visit(named("node"), node);
    visit(named("hostname"), hostname);
    visit(named("address"), address);
}

template <typename Visit>
void describe(Visit& visit, Like<DegradedLink> auto& link) {
    auto& [from, to, bandwidth, baseline, since] = link;
    visit(named("from"), from);
    visit(named("to"), to);
    visit(named("bandwidth"), bandwidth);
    visit(named("baseline"), baseline);
    visit(named("since"), since);
}

template <typename Visit>
void describe(Visit& visit, Like<PlacementReport> auto& report) {
    auto& [mesh, zero, hosts, placed, predicted, traffic, registration, by_node, groups, degraded] =
        report;
    visit(named("mesh", Presence::sent), mesh);
    visit(named("zero"), zero);
    visit(named("hosts"), hosts);
    visit(named("placed"), placed);
    visit(named("predicted"), predicted);
    visit(named("phases"), traffic);
    visit(named("registration"), registration);
    visit(named("by_node"), by_node);
    visit(named("groups"), groups);
    visit(named("degraded"), degraded);
}

}  // namespace rm
