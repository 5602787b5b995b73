#include "worker/rank/nccl_settings.h"

#include <arpa/inet.h>
#include <ifaddrs.h>

#include <array>
#include <memory>

namespace rm {
namespace {

// The numeric address; empty for other families.
std::string text_of(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address == nullptr) return "";
    if (address->sa_family == AF_INET) {
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(),
                    text.size());
    } else if (address->sa_family == AF_INET6) {
        ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
                    text.data(), text.size());
    }
    return text.data();
}

// All of 127.0.0.0/8 is on the loopback interface.
bool is_at(const ifaddrs& entry, const std::string& address) {
    const std::string own = text_of(entry.ifa_addr);
    return own == address || (own == "127.0.0.1" && address.starts_with("127."));
}

}  // namespace

Result<NcclSettings> nccl_settings(const std::string& data_address, Reproducible reproducible) {
    ifaddrs* list = nullptr;
    ::getifaddrs(&list);
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (!is_at(*entry, data_address)) continue;
        return NcclSettings{.interface = entry->ifa_name,
                            .is_ipv6 = entry->ifa_addr->sa_family == AF_INET6,
                            .reproducible = reproducible};
    }
    return make_error(ErrorCode::unavailable,
                      "NCCL cannot listen on {}: no network interface of this machine has that "
                      "address",
                      data_address);
}

std::map<std::string, std::string> environment_of(const NcclSettings& settings) {
    // "=" asks for this interface alone: without it "eth1" also means eth10.
    std::map<std::string, std::string> variables = {
        {"NCCL_SOCKET_IFNAME", "=" + settings.interface},
        {"NCCL_SOCKET_FAMILY", settings.is_ipv6 ? "AF_INET6" : "AF_INET"}};
    if (settings.reproducible == Reproducible::on) {
        variables["NCCL_ALGO"] = "Ring";
        variables["NCCL_PROTO"] = "Simple";
    }
    return variables;
}

std::string to_string(const NcclSettings& settings) {
    const bool fixed = settings.reproducible == Reproducible::on;
    return settings.interface + (fixed ? ", algorithm Ring, protocol Simple" : "");
}

}  // namespace rm
