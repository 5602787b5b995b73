#include "engine/comm/transport/local_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/text.h"

namespace rm {
namespace {

// The errno of listening on the address with a fresh socket.
int listen_errno(const sockaddr* address, socklen_t length) {
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const int failure = bind(fd, address, length) == 0 && listen(fd, 1) == 0 ? 0 : errno;
    close(fd);
    return failure;
}

// The same for a literal address; nullopt for any other text.
std::optional<int> listen_errno(const std::string& address, int port) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    v4.sin_port = v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
        return listen_errno(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
    }
    if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
        return listen_errno(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
    }
    return std::nullopt;
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
    std::filesystem::directory_iterator at("/proc/self/fd", failed);
    for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
        const int fd = parse_number<int>(at->path().filename().native()).value_or(-1);
        // A descriptor that is no socket has no names.
        const SocketEnds ends{end_of(getsockname, fd), end_of(getpeername, fd)};
        if (!ends.own.empty() && !ends.other.empty()) connected.push_back(ends);
    }
    return connected;
}

bool can_listen(const std::string& address, int port) {
    return listen_errno(address, port) == 0;
}

Status check_local_address(const std::string& address) {
    const std::optional<int> failure = listen_errno(address, 0);
    if (!failure) return invalid_argument("'{}' is not an IP address", address);
    if (*failure == 0) return {};
    return invalid_argument("cannot listen on {}: {}; it must be an address of this machine",
                            address, std::strerror(*failure));
}

}  // namespace rm
