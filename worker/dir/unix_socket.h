#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/unique_fd.h"
#include "base/result.h"
#include "base/units.h"

// Unix stream sockets that live in a directory and carry lines. The directory is reached through
// its descriptor, so that its path may be longer than the 107 bytes a socket address holds.
namespace rm {

// Non-blocking; removes any file of that name.
Result<UniqueFd> listen_in(const std::string& directory, const std::string& name);
// Non-blocking, close-on-exec; nothing when no connection is pending.
std::optional<UniqueFd> accept_connection(int listener);
// NOT_FOUND or UNAVAILABLE when no process listens.
Result<UniqueFd> connect_in(const std::string& directory, const std::string& name);

// One end of a connection. Lines end in '\n' and are at most 64 MiB. read_available and next_line
// never wait; write and wait_line wait up to their timeout.
class LineConnection {
public:
    LineConnection() = default;
    explicit LineConnection(UniqueFd socket) : socket_(std::move(socket)) {}

    int fd() const { return socket_.get(); }
    bool open() const { return static_cast<bool>(socket_); }
    void close() { socket_.reset(); }

    // Reads the bytes that have arrived; false when the peer has closed or the connection broke.
    bool read_available();
    std::optional<std::string> next_line();  // without its '\n'

    Status write_line(std::string_view line, Seconds timeout);
    // DEADLINE_EXCEEDED, or UNAVAILABLE when the peer has closed.
    Result<std::string> wait_line(Seconds timeout);

private:
    UniqueFd socket_;
    std::string received_;
};

// Waits until the descriptor is ready for `events` (POLLIN, POLLOUT); false after the timeout.
bool wait_ready(int fd, short events, Seconds timeout);

}  // namespace rm
