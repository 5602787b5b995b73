#include "worker/daemon/data_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/os/unique_fd.h"
#include "service/address.h"

namespace rm {
namespace {

constexpr std::string_view kCure =
    "name the address at which other machines reach this one with "
    "--data-address";

bool is_private_v4(std::uint32_t address) {
    const auto within = [&](std::uint32_t prefix, int bits) {
        return address >> (32 - bits) == prefix >> (32 - bits);
    };
    return within(0x7f000000, 8) || within(0x0a000000, 8) || within(0xac100000, 12) ||
           within(0xc0a80000, 16) || within(0xa9fe0000, 16);
}

bool is_private_v6(const in6_addr& address) {
    const bool unique_local = (address.s6_addr[0] & 0xfe) == 0xfc;
    return IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address) || unique_local;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> resolve(const HostPort& controller) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int failure = ::getaddrinfo(controller.host.c_str(),
                                      std::to_string(controller.port).c_str(), &hints, &found);
    if (failure == 0) return AddressList(found, &::freeaddrinfo);
    return make_error(ErrorCode::unavailable, "the controller's host '{}': {}; {}", controller.host,
                      ::gai_strerror(failure), kCure);
}

std::string text_of(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    } else {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    }
    return text;
}

// Connecting a datagram socket consults the routes and sends nothing.
Result<std::string> source_towards(const addrinfo& peer) {
    const UniqueFd socket(::socket(peer.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::connect(socket.get(), peer.ai_addr, peer.ai_addrlen) == 0 &&
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) == 0) {
        return text_of(own);
    }
    return make_error(ErrorCode::unavailable, "{}", std::strerror(errno));
}

}  // namespace

Status check_data_address(const std::string& address) {
    in_addr v4{};
    in6_addr v6{};
    const bool is_v4 = ::inet_pton(AF_INET, address.c_str(), &v4) == 1;
    if (!is_v4 && ::inet_pton(AF_INET6, address.c_str(), &v6) != 1) {
        return invalid_argument("data address '{}' is not a numeric IP address", address);
    }
    if (is_v4 ? is_private_v4(ntohl(v4.s_addr)) : is_private_v6(v6)) return {};
    return invalid_argument(
        "data address {} is public and what ranks send is not encrypted; use a private one",
        address);
}

Status check_data_address_option(const std::string& text) {
    const Status address = check_data_address(text);
    if (text == kAutoAddress || address) return {};
    return invalid_argument("{}, or auto", address.error().message);
}

Result<std::string> data_address_towards(const std::string& controller) {
    if (controller.starts_with("unix:")) return std::string("127.0.0.1");
    RM_TRY(const HostPort peer, parse_host_port(controller));
    RM_TRY(const AddressList list, resolve(peer));
    const Result<std::string> own = source_towards(*list);
    if (!own) {
        return make_error(ErrorCode::unavailable,
                          "no address of this machine reaches the controller {}: {}; {}",
                          controller, own.error().message, kCure);
    }
    if (check_data_address(*own)) return own;
    return invalid_argument(
        "this machine reaches the controller from {}, which is public, and what ranks send is not "
        "encrypted: name a private address with --data-address",
        *own);
}

std::string why_unreachable(const std::string& address, const std::string& controller) {
    const bool here = controller.starts_with("unix:") || parse_loopback(controller).ok();
    if (here || !parse_loopback(to_string(HostPort{address, 0}))) return "";
    return format(
        "{} is a loopback address and the controller {} is not: ranks of other machines cannot "
        "connect to those here; {}",
        address, controller, kCure);
}

}  // namespace rm
