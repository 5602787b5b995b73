#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

// Measured links between devices: the input of placement and its explanation. topology/routes.h
// models what transfers share; docs/formats/links.md describes the file format.
namespace rm {

// One direction of a connection between two nodes, or between two devices of a node.
struct Link {
    GbitPerSec bandwidth;  // total of all transfers over it; above 0
    GbitPerSec flow;       // limit of a single transfer; 0: the same as all together
    Seconds latency;
    bool operator==(const Link&) const = default;
};

// A PCIe host bridge or switch. Traffic from its devices to another bridge or to the network shares
// `up`; incoming traffic shares `down`. Transfers between its own devices use neither. 0: not a
// limit.
struct HostBridge {
    std::string name;
    std::vector<int> devices;  // a device is below one bridge at most
    GbitPerSec up;
    GbitPerSec down;
    bool operator==(const HostBridge&) const = default;
};

// How the devices of a node are connected. Identical nodes share one.
struct NodeInterior {
    int num_devices = 1;
    std::vector<Link>
        pairs;  // (num_devices, num_devices), row = sender; the diagonal means nothing
    std::vector<HostBridge> bridges;
    const Link& pair(int from, int to) const {
        return pairs[usize(from) * usize(num_devices) + usize(to)];
    }
    bool operator==(const NodeInterior&) const = default;
};

struct LinkNode {
    NodeId id;
    int interior = 0;    // index into LinkGraph::interiors
    GbitPerSec egress;   // all that the node sends to other nodes; 0: not a limit
    GbitPerSec ingress;  // all that it receives from them; 0: not a limit
    bool operator==(const LinkNode&) const = default;
};

// One direction of a shared cable, such as a rack's uplink: all transfers from a node of `from` to
// a node of `to` share it. An empty list stands for all nodes that are not in the other.
struct Trunk {
    std::string name;
    std::vector<int> from;  // indices into LinkGraph::nodes
    std::vector<int> to;
    GbitPerSec bandwidth;  // above 0
    bool operator==(const Trunk&) const = default;
};

struct LinkGraph {
    std::vector<NodeInterior> interiors;
    std::vector<LinkNode> nodes;  // in order of registration
    std::vector<Link> network;    // (nodes, nodes), row = sender; the diagonal means nothing
    std::vector<Trunk> trunks;

    bool empty() const { return nodes.empty(); }
    int num_nodes() const { return static_cast<int>(nodes.size()); }
    int num_devices(int node) const { return interior_of(node).num_devices; }
    int num_devices() const;  // of all nodes
    const NodeInterior& interior_of(int node) const {
        return interiors[usize(nodes[usize(node)].interior)];
    }
    Link& between(int from, int to) { return network[place(from, to)]; }
    const Link& between(int from, int to) const { return network[place(from, to)]; }

    bool operator==(const LinkGraph&) const = default;

private:
    std::size_t place(int from, int to) const { return usize(from) * nodes.size() + usize(to); }
};

// Identical nodes, every pair of them joined by `network` and every pair of devices by `inside`; a
// survey then writes its measurements into this graph. No NIC limit, no bridges, no trunks.
LinkGraph uniform_graph(const std::vector<NodeId>& nodes, int devices_per_node, Link network,
                        Link inside);

// Checks that sizes agree, ids are unique, indices exist, bandwidths are above 0, and all values
// are finite and not negative. The error names the node, the link, the bridge or the trunk.
Status validate(const LinkGraph& graph);

}  // namespace rm
