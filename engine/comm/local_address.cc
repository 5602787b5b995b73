#include "engine/comm/local_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rm {
namespace {

// The errno of binding a fresh socket to the address, port free.
int bind_errno(const sockaddr* address, socklen_t length) {
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    const int failure = bind(fd, address, length) == 0 ? 0 : errno;
    close(fd);
    return failure;
}

}  // namespace

Status check_local_address(const std::string& address) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    int failure = 0;
    if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
        failure = bind_errno(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
    } else if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
        failure = bind_errno(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
    } else {
        return invalid_argument("'{}' is not an IP address", address);
    }
    if (failure == 0) return {};
    return invalid_argument("cannot listen on {}: {}; it must be an address of this machine",
                            address, std::strerror(failure));
}

}  // namespace rm
