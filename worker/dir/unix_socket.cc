#include "worker/dir/unix_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "worker/dir/files.h"

namespace rm {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = 64 << 20;

struct DirectoryAddress {
    UniqueFd directory;  // open as long as the address is used
    sockaddr_un address{};
};

Result<DirectoryAddress> address_in(const std::string& directory, const std::string& name) {
    DirectoryAddress result;
    result.directory = UniqueFd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!result.directory) return system_error("cannot open", directory, errno);
    const std::string path = format("/proc/self/fd/{}/{}", result.directory.get(), name);
    RM_CHECK(path.size() < sizeof result.address.sun_path, "socket name {} is too long", name);
    result.address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), result.address.sun_path);
    return result;
}

Result<UniqueFd> new_socket(int flags) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    if (!socket) return system_error("cannot make a", "socket", errno);
    return socket;
}

SteadyClock::time_point after(Seconds timeout) {
    return SteadyClock::now() +
           std::chrono::microseconds(static_cast<std::int64_t>(timeout.value * 1e6));
}

Seconds left_until(SteadyClock::time_point deadline) {
    return Seconds{std::chrono::duration<double>(deadline - SteadyClock::now()).count()};
}

}  // namespace

Result<UniqueFd> listen_in(const std::string& directory, const std::string& name) {
    RM_TRY(const DirectoryAddress place, address_in(directory, name));
    RM_TRY(UniqueFd socket, new_socket(SOCK_NONBLOCK));
    ::unlink(place.address.sun_path);
    const auto* address = reinterpret_cast<const sockaddr*>(&place.address);
    if (::bind(socket.get(), address, sizeof place.address) != 0 ||
        ::listen(socket.get(), 128) != 0) {
        return system_error("cannot listen on", directory + "/" + name, errno);
    }
    return socket;
}

std::optional<UniqueFd> accept_connection(int listener) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return std::nullopt;
    return UniqueFd(fd);
}

Result<UniqueFd> connect_in(const std::string& directory, const std::string& name) {
    RM_TRY(const DirectoryAddress place, address_in(directory, name));
    RM_TRY(UniqueFd socket, new_socket(0));
    const auto* address = reinterpret_cast<const sockaddr*>(&place.address);
    if (::connect(socket.get(), address, sizeof place.address) != 0) {
        Error error = system_error("cannot connect to", directory + "/" + name, errno);
        if (errno == ECONNREFUSED) error.code = ErrorCode::unavailable;
        return error;
    }
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    return socket;
}

bool wait_ready(int fd, short events, Seconds timeout) {
    pollfd entry{fd, events, 0};
    const int milliseconds = static_cast<int>(std::max(0.0, timeout.value) * 1e3) + 1;
    return ::poll(&entry, 1, milliseconds) > 0;
}

bool LineConnection::read_available() {
    char block[16384];
    while (received_.size() < kLongestLine) {
        const ssize_t got = ::recv(socket_.get(), block, sizeof block, 0);
        if (got > 0) {
            received_.append(block, usize(got));
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    }
    return false;
}

std::optional<std::string> LineConnection::next_line() {
    const std::size_t end = received_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
}

Status LineConnection::write_line(std::string_view line, Seconds timeout) {
    const auto deadline = after(timeout);
    std::string text(line);
    text += '\n';
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            rest.remove_prefix(usize(sent));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (wait_ready(socket_.get(), POLLOUT, left_until(deadline))) continue;
            return make_error(ErrorCode::deadline_exceeded, "the peer took no line within {}",
                              timeout);
        } else if (errno != EINTR) {
            return make_error(ErrorCode::unavailable, "the peer is gone: {}", std::strerror(errno));
        }
    }
    return {};
}

Result<std::string> LineConnection::wait_line(Seconds timeout) {
    const auto deadline = after(timeout);
    while (true) {
        if (auto line = next_line()) return std::move(*line);
        const Seconds left = left_until(deadline);
        if (left.value <= 0 || !wait_ready(socket_.get(), POLLIN, left)) {
            return make_error(ErrorCode::deadline_exceeded, "no line within {}", timeout);
        }
        const bool still_open = read_available();
        if (auto line = next_line()) return std::move(*line);
        if (!still_open)
            return make_error(ErrorCode::unavailable, "the peer closed the connection");
    }
}

}  // namespace rm
