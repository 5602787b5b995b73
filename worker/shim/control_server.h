#pragma once

#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/session.h"
#include "worker/dir/unix_socket.h"

namespace rm {

// The commands of shim.sock, one JSON object per line; docs/formats/shim_directory.md.
struct AttachCommand {};  // this connection is the daemon's
struct PingCommand {};
struct StopCommand {
    StopMode mode = StopMode::graceful;
    Seconds grace{60};
};
using ShimCommand = std::variant<AttachCommand, PingCommand, StopCommand>;
Result<ShimCommand> parse_shim_command(std::string_view line);
std::string to_json(const StopCommand& command);

// The shim's end of shim.sock; never waits. Drops a peer that does not read its answers.
class ControlServer {
public:
    explicit ControlServer(UniqueFd listener) : listener_(std::move(listener)) {}

    // Appends the descriptors to poll to `entries`.
    void add_to(std::vector<pollfd>& entries) const;
    // Accepts connections and reads pending commands; returns the requested stops.
    std::vector<StopCommand> serve();
    void announce_exit(int rank);
    int num_daemons() const;

private:
    struct Peer {
        LineConnection connection;
        bool is_daemon = false;
    };
    void answer(Peer& peer, const std::string& line, std::vector<StopCommand>& stops);
    static void say(Peer& peer, const std::string& line);

    UniqueFd listener_;
    std::list<Peer> peers_;
};

}  // namespace rm
