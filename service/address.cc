#include "service/address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <charconv>

namespace rm {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

Result<int> parse_port(std::string_view text, std::string_view address) {
    int port = -1;
    const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failure == std::errc() && rest == text.data() + text.size() && port >= 0 && port <= 65535) {
        return port;
    }
    return invalid_argument("address '{}': the port '{}' must be a number from 0 to 65535", address,
                            text);
}

bool is_loopback(const std::string& host) {
    in_addr v4{};
    if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
    in6_addr v6{};
    return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_numeric(const std::string& host) {
    unsigned char bytes[sizeof(in6_addr)];
    return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
           inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

Status check_unix(std::string_view address, Wire wire) {
    if (wire == Wire::tls) {
        return invalid_argument(
            "address '{}' is a Unix socket, which does not speak TLS; give no CA", address);
    }
    const std::string_view path = address.substr(kUnix.size());
    if (!path.starts_with('/')) {
        return invalid_argument(
            "address '{}': the socket's path must be absolute, as in unix:/path", address);
    }
    if (path.size() <= kMaxUnixPath) return {};
    return invalid_argument("address '{}': the socket's path has {} bytes, the system allows {}",
                            address, path.size(), kMaxUnixPath);
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view address) {
    const auto colon = address.rfind(':');
    const bool bracketed = address.starts_with('[');
    const auto end = bracketed ? address.find(']') : colon;
    if (colon == std::string_view::npos || end == std::string_view::npos || end == 0 ||
        (bracketed && end + 1 != colon)) {
        return invalid_argument("address '{}' must be host:port, as in 127.0.0.1:7070", address);
    }
    const std::string_view host = bracketed ? address.substr(1, end - 1) : address.substr(0, colon);
    if (host.empty() || (!bracketed && host.find(':') != std::string_view::npos)) {
        return invalid_argument("address '{}' must be host:port, IPv6 as in [::1]:7070", address);
    }
    RM_TRY(const int port, parse_port(address.substr(colon + 1), address));
    return HostPort{std::string(host), port};
}

std::string to_string(const HostPort& address) {
    const bool v6 = address.host.find(':') != std::string::npos;
    return format(v6 ? "[{}]:{}" : "{}:{}", address.host, address.port);
}

Result<HostPort> parse_loopback(std::string_view address) {
    RM_TRY(HostPort parsed, parse_host_port(address));
    if (parsed.host == "localhost") parsed.host = "127.0.0.1";
    if (is_loopback(parsed.host)) return parsed;
    return invalid_argument(
        "'{}' is not a loopback address, so TLS is required: give the certificate files "
        "(docs/security.md), or use 127.0.0.1:{} or a Unix socket",
        address, parsed.port);
}

Result<HostPort> parse_listener(std::string_view address, Wire wire) {
    if (wire == Wire::plain) return parse_loopback(address);
    RM_TRY(HostPort parsed, parse_host_port(address));
    if (parsed.host == "localhost") parsed.host = "127.0.0.1";
    if (is_numeric(parsed.host)) return parsed;
    return invalid_argument(
        "address '{}' is a name; to listen give one of this machine's addresses, or 0.0.0.0:{}",
        address, parsed.port);
}

Status check_address(std::string_view address, Wire wire) {
    if (address.starts_with(kUnix)) return check_unix(address, wire);
    const auto parsed = wire == Wire::tls ? parse_host_port(address) : parse_loopback(address);
    return parsed ? Status() : Status(parsed.error());
}

}  // namespace rm
