#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/lab/namespaces.h"
#include "tests/lab/topology.h"

// Several hosts on one machine: a network namespace each, joined by veth pairs and bridges, shaped
// by `tc tbf` on both ends of every link. The switches are in a namespace, too: nothing of the
// machine's own network is touched, and everything goes with this object and the programs in it.
namespace rm::lab {

class Lab {
public:
    // RM_CHECK: why_no_namespaces() is empty, and iproute2 is installed.
    explicit Lab(Topology topology);
    Lab(const Lab&) = delete;
    Lab& operator=(const Lab&) = delete;

    const Topology& topology() const { return topology_; }
    // Private IPv4 address of its first interface besides loopback.
    std::string address(std::string_view host) const;
    // Gives every host a second interface, to one switch more, at this rate.
    void add_second_network(MbitPerSec rate);
    std::string second_address(std::string_view host) const;

    // The command line that runs a program, given by its path, in a host. It is the same process:
    // signals reach the program itself.
    std::vector<std::string> inside(std::string_view host, std::vector<std::string> argv) const;
    // Runs `work` on a thread of the host; sockets it opens stay there. It must not throw.
    void run_in(std::string_view host, const std::function<void()>& work) const;
    // From now on the calling thread and what it starts are in the host.
    void enter(std::string_view host) const;

    // Drops all packets between the two silently, in both directions, as when a switch between
    // them dies.
    void cut(std::string_view a, std::string_view b);
    void heal(std::string_view a, std::string_view b);

    // A firewall of the host: silently drops incoming TCP packets for these ports.
    void block_ports(std::string_view host, int first, int last);
    void open_ports(std::string_view host, int first, int last);

    // Both directions; packets under way are not lost.
    void set_host_rate(std::string_view host, MbitPerSec rate);
    void set_cable_rate(std::string_view rack, std::string_view other_rack, MbitPerSec rate);

private:
    // The end of a host's link in it, the end at the switch, and what the link is like.
    struct Port {
        std::string interface;
        std::string at_switch;
        std::string of_switch;
        std::string network;  // the first three bytes of its addresses
        MbitPerSec rate;
    };
    void add_host(std::size_t host);
    void add_port(std::size_t host, const Port& port);
    void add_cable(std::size_t cable);
    void route(std::string_view verb, std::string_view a, std::string_view b);

    Topology topology_;
    Namespace switches_;
    std::vector<Namespace> hosts_;  // as in the topology
};

}  // namespace rm::lab
