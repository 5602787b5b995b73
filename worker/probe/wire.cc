#include "worker/probe/wire.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace rm {
namespace {

constexpr int kBacklog = 512;
// Where any port will do, another program may have the same one at another address.
constexpr int kTriesOfAnyPort = 20;

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> resolve(const std::string& address, int port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int failure =
        ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (failure != 0) {
        return invalid_argument("probe address '{}': {}", address, ::gai_strerror(failure));
    }
    return AddressList(found, &::freeaddrinfo);
}

Result<UniqueFd> new_socket(const addrinfo& at, int flags = 0) {
    UniqueFd socket(::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | flags, at.ai_protocol));
    if (socket) return socket;
    return make_error(ErrorCode::resource_exhausted, "no socket: {}", std::strerror(errno));
}

// Without a descriptor: the port is taken there.
Result<UniqueFd> listen_at(const std::string& address, int port) {
    RM_TRY(const AddressList at, resolve(address, port));
    // A caller may be gone again before it is accepted.
    RM_TRY(UniqueFd socket, new_socket(*at, SOCK_NONBLOCK));
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.get(), at->ai_addr, at->ai_addrlen) != 0) {
        if (errno == EADDRINUSE) return UniqueFd();
        return make_error(ErrorCode::unavailable, "probe server on {}: {}", address,
                          std::strerror(errno));
    }
    if (::listen(socket.get(), kBacklog) != 0) return UniqueFd();
    return socket;
}

// Fewer than there are addresses: the port is taken at one. 0: the port that the first one gets.
Result<std::vector<UniqueFd>> listen_at(const std::vector<std::string>& addresses, int port) {
    std::vector<UniqueFd> listeners;
    for (const std::string& address : addresses) {
        RM_TRY(UniqueFd listener, listen_at(address, port));
        if (!listener) return listeners;
        RM_TRY(port, port_of(listener));
        listeners.push_back(std::move(listener));
    }
    return listeners;
}

timeval to_timeval(Seconds span) {
    const double whole = std::floor(span.value);
    return {static_cast<time_t>(whole), static_cast<suseconds_t>((span.value - whole) * 1e6)};
}

}  // namespace

Result<std::vector<UniqueFd>> listen_in(const std::vector<std::string>& addresses,
                                        PortRange ports) {
    const int tries = ports.first == 0 ? kTriesOfAnyPort : ports.last - ports.first + 1;
    for (int i = 0; i < tries; ++i) {
        const int port = ports.first == 0 ? 0 : ports.first + i;
        RM_TRY(std::vector<UniqueFd> listeners, listen_at(addresses, port));
        if (listeners.size() == addresses.size()) return listeners;
    }
    return make_error(ErrorCode::resource_exhausted, "no port of {} is free on {}",
                      to_string(ports), join(addresses, ", "));
}

Result<int> port_of(const UniqueFd& listener) {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
        return make_error(ErrorCode::internal, "getsockname: {}", std::strerror(errno));
    }
    return bound.ss_family == AF_INET6
               ? ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port)
               : ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

Result<UniqueFd> dial(const std::string& address, int port, Seconds patience) {
    RM_TRY(const AddressList at, resolve(address, port));
    RM_TRY(UniqueFd socket, new_socket(*at));
    // Also bounds the connect.
    set_patience(socket, patience);
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    const int number = errno;
    const bool late = number == EINPROGRESS || number == EAGAIN || number == ETIMEDOUT;
    const std::string why =
        late ? format(
                   "no answer within {}; a firewall between the two must let this "
                   "port through",
                   patience)
             : std::string(std::strerror(number));
    return make_error(ErrorCode::unavailable, "probe server {}:{}: {}", address, port, why);
}

void set_patience(const UniqueFd& socket, Seconds patience) {
    const timeval limit = to_timeval(patience);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool send_all(const UniqueFd& socket, const void* bytes, std::size_t size) {
    const char* next = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t sent = ::send(socket.get(), next, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        next += sent;
        size -= usize(sent);
    }
    return true;
}

bool receive_all(const UniqueFd& socket, void* bytes, std::size_t size) {
    char* next = static_cast<char*>(bytes);
    while (size > 0) {
        const ssize_t got = ::recv(socket.get(), next, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        next += got;
        size -= usize(got);
    }
    return true;
}

}  // namespace rm
