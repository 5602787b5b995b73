#include "tests/lab/lab.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/format.h"

namespace rm::lab {
namespace {

// The bucket holds the largest packet (64 KiB before the kernel segments it): with a smaller one
// the kernel would segment every packet first, a notable cost on two cores. The queue before it is
// short so that acknowledgements of one direction do not wait behind the data of the other: with 50
// ms of queue one of two opposite connections falls to a fifth of the rate.
// The bucket also holds 10 ms of the rate: a machine that is denied its cores wakes the shaper that
// late, for seconds at a time, and every wake sends at most a bucket.
std::string shape(std::string_view verb, const std::string& device, MbitPerSec rate) {
    const double burst_kb = std::max(80.0, rate.value * 1.25);
    return format("tc qdisc {} dev {} root tbf rate {}kbit burst {}kb latency 3ms\n", verb, device,
                  std::llround(rate.value * 1000), std::llround(burst_kb));
}

constexpr const char* kNetwork = "10.77.0";
constexpr const char* kSecondNetwork = "10.78.0";

std::string address_in(const std::string& network, std::size_t host) {
    return format("{}.{}", network, host + 1);
}

std::string switch_name(std::size_t rack) {
    return format("rack{}", rack);
}

// The end at the switch; the other is `eth0` in the host.
std::string port_name(std::size_t host) {
    return format("port{}", host);
}

std::string cable_end(std::size_t cable, char end) {
    return format("cable{}{}", cable, end);
}

// Packets routed to `void0` are lost silently: no host owns its other end. A `blackhole` route
// would fail the call that sends.
constexpr std::string_view kVoid =
    "ip link add void0 type veth peer name void1\n"
    "ip link set void0 arp off up\n"
    "ip link set void1 arp off up\n";

}  // namespace

Lab::Lab(Topology topology) : topology_(std::move(topology)), hosts_(topology_.hosts.size()) {
    std::string script;
    for (std::size_t rack = 0; rack < topology_.racks.size(); ++rack) {
        script += format("ip link add {} type bridge\nip link set {} up\n", switch_name(rack),
                         switch_name(rack));
    }
    switches_.shell(script);
    for (std::size_t cable = 0; cable < topology_.cables.size(); ++cable)
        add_cable(cable);
    for (std::size_t host = 0; host < hosts_.size(); ++host)
        add_host(host);
}

std::string Lab::address(std::string_view host) const {
    return address_in(kNetwork, topology_.host_index(host));
}

std::string Lab::second_address(std::string_view host) const {
    return address_in(kSecondNetwork, topology_.host_index(host));
}

void Lab::add_host(std::size_t host) {
    const Host& it = topology_.hosts[host];
    add_port(host, {"eth0", port_name(host), switch_name(it.rack), kNetwork, it.rate});
    hosts_[host].shell("ip link set lo up\n" + std::string(kVoid));
}

void Lab::add_port(std::size_t host, const Port& port) {
    switches_.shell(format("ip link add {} type veth peer name {} netns {}\n", port.at_switch,
                           port.interface, hosts_[host].path()) +
                    format("ip link set {} master {} up\n", port.at_switch, port.of_switch) +
                    shape("add", port.at_switch, port.rate));
    const std::string self = address_in(port.network, host);
    // Every machine uses the same congestion control, one that every kernel has.
    hosts_[host].shell(format("ip addr add {}/24 dev {} noprefixroute\n", self, port.interface) +
                       format("ip link set {} up\n", port.interface) +
                       format("ip route add {}.0/24 dev {} src {} congctl reno\n", port.network,
                              port.interface, self) +
                       shape("add", port.interface, port.rate));
}

void Lab::add_second_network(MbitPerSec rate) {
    switches_.shell("ip link add second type bridge\nip link set second up\n");
    for (std::size_t host = 0; host < hosts_.size(); ++host)
        add_port(host, {"eth1", "second_" + port_name(host), "second", kSecondNetwork, rate});
}

void Lab::add_cable(std::size_t cable) {
    const Cable& it = topology_.cables[cable];
    const std::string from = cable_end(cable, 'a');
    const std::string to = cable_end(cable, 'b');
    switches_.shell(format("ip link add {} type veth peer name {}\n", from, to) +
                    format("ip link set {} master {} up\n", from, switch_name(it.from)) +
                    format("ip link set {} master {} up\n", to, switch_name(it.to)) +
                    shape("add", from, it.rate) + shape("add", to, it.rate));
}

std::vector<std::string> Lab::inside(std::string_view host, std::vector<std::string> argv) const {
    const Namespace& space = hosts_[topology_.host_index(host)];
    argv.insert(argv.begin(), {"/usr/bin/nsenter", "--net=" + space.path(), "--"});
    return argv;
}

void Lab::run_in(std::string_view host, const std::function<void()>& work) const {
    hosts_[topology_.host_index(host)].run(work);
}

void Lab::enter(std::string_view host) const {
    hosts_[topology_.host_index(host)].enter();
}

void Lab::route(std::string_view verb, std::string_view a, std::string_view b) {
    for (const auto& [here, there] : {std::pair(a, b), std::pair(b, a)}) {
        hosts_[topology_.host_index(here)].shell(
            format("ip route {} {}/32 dev void0 src {}", verb, address(there), address(here)));
    }
}

void Lab::cut(std::string_view a, std::string_view b) {
    route("add", a, b);
}

void Lab::heal(std::string_view a, std::string_view b) {
    route("del", a, b);
}

// Blocks by routing, which every kernel has; packets for this host are routed, too, once its own
// table is not the first.
void Lab::block_ports(std::string_view host, int first, int last) {
    hosts_[topology_.host_index(host)].shell(
        format("ip rule add pref 10 iif eth0 ipproto tcp dport {}-{} blackhole\n", first, last) +
        "ip rule add pref 20 lookup local\nip rule del pref 0 || true\n");
}

void Lab::open_ports(std::string_view host, int first, int last) {
    hosts_[topology_.host_index(host)].shell(
        format("ip rule del pref 10 iif eth0 ipproto tcp dport {}-{} blackhole\n", first, last));
}

void Lab::set_host_rate(std::string_view host, MbitPerSec rate) {
    const std::size_t index = topology_.host_index(host);
    topology_.hosts[index].rate = rate;
    switches_.shell(shape("change", port_name(index), rate));
    hosts_[index].shell(shape("change", "eth0", rate));
}

void Lab::set_cable_rate(std::string_view rack, std::string_view other_rack, MbitPerSec rate) {
    const std::size_t a = topology_.rack_index(rack);
    const std::size_t b = topology_.rack_index(other_rack);
    const auto joins = [&](const Cable& c) {
        return std::minmax(c.from, c.to) == std::minmax(a, b);
    };
    const auto cable = std::find_if(topology_.cables.begin(), topology_.cables.end(), joins);
    RM_CHECK(cable != topology_.cables.end(), "no cable joins {} and {}", rack, other_rack);
    cable->rate = rate;
    const auto index = static_cast<std::size_t>(cable - topology_.cables.begin());
    switches_.shell(shape("change", cable_end(index, 'a'), rate) +
                    shape("change", cable_end(index, 'b'), rate));
}

}  // namespace rm::lab
