#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

// Loopback, or private by RFC 1918, 3927, 4193, 4291; the data plane is not encrypted.
Status check_data_address(const std::string& address);

// The same, or `auto`.
Status check_data_address_option(const std::string& text);
constexpr std::string_view kAutoAddress = "auto";

// The local address from which this machine routes to `controller` (unix:/path or host:port);
// sends nothing and needs no answer. 127.0.0.1 for a Unix socket. UNAVAILABLE: no route, or the
// name is not known; INVALID_ARGUMENT: the address is public. Both name --data-address.
Result<std::string> data_address_towards(const std::string& controller);

// Explains why ranks of other machines cannot reach `address`, assuming that a controller beyond
// loopback has other machines; empty: no known obstacle.
std::string why_unreachable(const std::string& address, const std::string& controller);

}  // namespace rm
