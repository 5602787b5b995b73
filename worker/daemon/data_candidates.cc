#include "worker/daemon/data_candidates.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/format.h"
#include "base/os/unique_fd.h"
#include "worker/daemon/data_address.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

// Programs that run containers and machines name what they make like this.
constexpr std::array<std::string_view, 12> kOfContainers = {"br-",     "cali", "cni",   "docker",
                                                            "flannel", "kube", "lxc",   "lxd",
                                                            "podman",  "veth", "virbr", "vnet"};

bool is_of_containers(std::string_view interface) {
    return std::any_of(kOfContainers.begin(), kOfContainers.end(),
                       [&](std::string_view name) { return interface.starts_with(name); });
}

bool exists(const std::string& path) {
    std::error_code failed;
    return fs::exists(path, failed);
}

// A bridge with a network card is how a host of virtual machines reaches the network itself.
bool is_bridge_without_hardware(const std::string& interface) {
    const std::string here = "/sys/class/net/" + interface;
    if (!exists(here + "/bridge")) return false;
    std::error_code failed;
    for (fs::directory_iterator port(here + "/brif", failed);
         !failed && port != fs::directory_iterator(); port.increment(failed)) {
        if (exists("/sys/class/net/" + port->path().filename().string() + "/device")) return false;
    }
    return true;
}

const void* bytes_of(const sockaddr& address) {
    if (address.sa_family == AF_INET)
        return &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    return &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
}

std::string text_of(int family, const void* bytes) {
    char text[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(family, bytes, text, sizeof text);
    return text;
}

// "10.1.0.0/16": the bits of the address that the mask keeps.
std::string network_of(const sockaddr& address, const sockaddr& mask) {
    std::array<unsigned char, sizeof(in6_addr)> kept{};
    const std::size_t length = address.sa_family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
    const auto* bytes = static_cast<const unsigned char*>(bytes_of(address));
    const auto* of_mask = static_cast<const unsigned char*>(bytes_of(mask));
    std::size_t bits = 0;
    for (std::size_t i = 0; i < length; ++i) {
        kept[i] = bytes[i] & of_mask[i];
        bits += std::bitset<8>(of_mask[i]).count();
    }
    return format("{}/{}", text_of(address.sa_family, kept.data()), bits);
}

// Not while the kernel still asks whether another machine has the address.
bool can_listen(const sockaddr& address) {
    const UniqueFd socket(::socket(address.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto size = static_cast<socklen_t>(address.sa_family == AF_INET ? sizeof(sockaddr_in)
                                                                          : sizeof(sockaddr_in6));
    sockaddr_storage any_port{};
    std::copy_n(reinterpret_cast<const char*>(&address), size, reinterpret_cast<char*>(&any_port));
    return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any_port), size) == 0;
}

InterfaceAddress described(const ifaddrs& entry) {
    const sockaddr& address = *entry.ifa_addr;
    const bool is_up = (entry.ifa_flags & IFF_UP) != 0 && (entry.ifa_flags & IFF_RUNNING) != 0;
    return {.interface = entry.ifa_name,
            .at = {text_of(address.sa_family, bytes_of(address)),
                   entry.ifa_netmask == nullptr ? "" : network_of(address, *entry.ifa_netmask)},
            .is_up = is_up && can_listen(address),
            .is_bridge = is_bridge_without_hardware(entry.ifa_name)};
}

bool is_v6(const std::string& address) {
    return address.find(':') != std::string::npos;
}

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

// Where it means the same on every machine of a network, and needs no interface beside it.
bool is_link_local(const std::string& address) {
    return address.starts_with("169.254.") || address.starts_with("fe80:");
}

bool may_be_chosen(const InterfaceAddress& one, const std::string& first) {
    const std::string& address = one.at.address;
    return one.is_up && !one.is_bridge && !is_of_containers(one.interface) &&
           is_v6(address) == is_v6(first) && !is_loopback(address) && !is_link_local(address) &&
           check_data_address(address).ok();
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
    std::vector<InterfaceAddress> all;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr) continue;
        const int family = entry->ifa_addr->sa_family;
        if (family == AF_INET || family == AF_INET6) all.push_back(described(*entry));
    }
    return all;
}

DataAddress pinned_candidate(const std::string& address, const std::vector<InterfaceAddress>& all) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const InterfaceAddress& one) {
        return one.at.address == address;
    });
    return found == all.end() ? DataAddress{address, ""} : found->at;
}

std::vector<DataAddress> data_candidates(const std::string& first,
                                         const std::vector<InterfaceAddress>& all) {
    std::vector<DataAddress> candidates = {pinned_candidate(first, all)};
    if (is_loopback(first)) return candidates;
    for (const InterfaceAddress& one : all) {
        const bool is_new =
            std::find(candidates.begin(), candidates.end(), one.at) == candidates.end();
        const bool has_room = candidates.size() < kMaxDataAddresses;
        if (is_new && has_room && may_be_chosen(one, first)) candidates.push_back(one.at);
    }
    return candidates;
}

}  // namespace rm
