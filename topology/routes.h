#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/links.h"

// Resources that transfers between devices share. A transfer uses its own link and every shared
// resource on its path: inside a node the link of the two devices and, between two host bridges,
// `up` of the one and `down` of the other; between nodes `up` of the sender's bridge, the sender's
// egress, the link of the two nodes, every trunk between them, the receiver's ingress and `down` of
// its bridge. No data moves from a device to itself.
namespace rm {

struct Endpoint {
    int node = 0;    // index into LinkGraph::nodes
    int device = 0;  // of that node
    auto operator<=>(const Endpoint&) const = default;
};

// The path of a transfer from one device to another: resource numbers, the limit of one transfer
// (bytes/s; infinity: no limit), and latency (s). Borrows from the Routes that made it.
struct Route {
    static constexpr int kMostFixed = 5;
    int fixed[kMostFixed] = {};
    int num_fixed = 0;
    std::span<const int> trunks;
    double flow = 0;
    double latency = 0;

    template <typename Use>
    void for_each(Use use) const {
        for (int i = 0; i < num_fixed; ++i)
            use(fixed[i]);
        for (const int trunk : trunks)
            use(trunk);
    }
};

// The resources of a graph by number, with the capacity of each. Borrows a valid graph.
class Routes {
public:
    explicit Routes(const LinkGraph& graph);

    const LinkGraph& graph() const { return graph_; }
    int num_resources() const { return static_cast<int>(seconds_per_byte_.size()); }
    // 0 for a resource that is not a limit; no route names such a resource.
    double seconds_per_byte(int resource) const { return seconds_per_byte_[usize(resource)]; }
    Route route(Endpoint from, Endpoint to) const;
    // Bytes per second of one transfer that has its path to itself.
    double alone(const Route& route) const;
    std::string name(int resource) const;  // link n1 -> n2; egress of n1; trunk rack-a out

private:
    enum class Part { up, down };

    void add_trunks();
    void add_interior(int node);
    void use(Route& route, int resource) const;
    void use_bridge(Route& route, Endpoint at, Part part) const;
    int bridge_of(Endpoint at) const;  // index into the interior's bridges; -1: below none
    std::string interior_name(int node, int offset) const;

    const LinkGraph& graph_;
    // In this order: egress by node, ingress by node, trunks, then by node its device pairs and per
    // bridge up and down, then the links of the network.
    std::vector<double> seconds_per_byte_;
    std::vector<int> interior_base_;            // by node
    std::vector<std::vector<int>> bridges_of_;  // by interior and device
    int network_base_ = 0;
    // Nodes in the same lists of trunks form a zone; trunks between zones are stored row by row.
    std::vector<int> zone_of_;
    int num_zones_ = 1;
    std::vector<std::vector<int>> trunks_between_;
};

}  // namespace rm
