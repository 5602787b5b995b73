#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

// Addresses of control and HTTP listeners and of their callers. Plain text is for Unix sockets and
// loopback; everything else speaks TLS.
namespace rm {

enum class Wire { plain, tls };

struct HostPort {
    std::string host;  // a numeric address without brackets, or localhost
    int port = 0;      // 0: the system chooses
    bool operator==(const HostPort&) const = default;
};

// "127.0.0.1:7070", "localhost:0", "[::1]:7070".
Result<HostPort> parse_host_port(std::string_view address);
std::string to_string(const HostPort& address);  // IPv6 in brackets

// Plain loopback host:port, localhost as 127.0.0.1; anything else is refused with the reason.
Result<HostPort> parse_loopback(std::string_view address);

// Where to listen: a numeric host:port (localhost is 127.0.0.1), on loopback unless TLS is spoken.
Result<HostPort> parse_listener(std::string_view address, Wire wire);

// Checks an address to call: unix:/absolute/path (at most 107 bytes of path), or host:port, on
// loopback unless TLS is spoken, which Unix sockets do not.
Status check_address(std::string_view address, Wire wire = Wire::plain);

}  // namespace rm
