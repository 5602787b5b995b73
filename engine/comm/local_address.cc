#include "engine/comm/local_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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

template <typename Address>
std::string ip_of(int family, const Address& address) {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(family, &address, text, sizeof text);
    return text;
}

using NameCall = int (*)(int, sockaddr*, socklen_t*);
std::string end_of(NameCall name, int socket) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const bool named = name(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    return named ? to_string(address) : "";
}

}  // namespace

std::string to_string(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        return format("[{}]:{}", ip_of(AF_INET6, v6.sin6_addr), ntohs(v6.sin6_port));
    }
    if (address.ss_family != AF_INET) return "";
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return format("{}:{}", ip_of(AF_INET, v4.sin_addr), ntohs(v4.sin_port));
}

std::vector<SocketEnds> connected_sockets() {
    std::vector<SocketEnds> connected;
    std::error_code failed;  // without /proc nothing is known
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failed)) {
        const int fd = std::atoi(entry.path().filename().c_str());
        // What is no socket has no names.
        const SocketEnds ends{end_of(getsockname, fd), end_of(getpeername, fd)};
        if (!ends.own.empty() && !ends.other.empty()) connected.push_back(ends);
    }
    return connected;
}

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
