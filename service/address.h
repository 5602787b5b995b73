#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

// Addresses of control and HTTP listeners. Until TLS exists only Unix sockets and loopback are
// allowed.
namespace rm {

struct HostPort {
    std::string host;  // a numeric address without brackets, or localhost
    int port = 0;      // 0: the system chooses
    bool operator==(const HostPort&) const = default;
};

// "127.0.0.1:7070", "localhost:0", "[::1]:7070".
Result<HostPort> parse_host_port(std::string_view address);
std::string to_string(const HostPort& address);  // IPv6 in brackets

// Loopback host:port; anything else is refused with the reason.
Result<HostPort> parse_loopback(std::string_view address);

// unix:/absolute/path (at most 107 bytes of path) or loopback host:port; anything else is refused.
Status check_address(std::string_view address);

}  // namespace rm
