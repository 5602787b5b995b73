#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace rm {

// Whether `address` is a literal IPv4 or IPv6 address this machine can listen on. No name is
// resolved.
Status check_local_address(const std::string& address);

// Whether a socket can listen on that port of a literal address now.
bool can_listen(const std::string& address, int port);

// "127.0.0.2:40112", "[::1]:40112"; empty for addresses that are not IP.
std::string to_string(const sockaddr_storage& address);

// The TCP connections of this process, as its sockets name their ends.
struct SocketEnds {
    std::string own;
    std::string other;
};
std::vector<SocketEnds> connected_sockets();

}  // namespace rm
