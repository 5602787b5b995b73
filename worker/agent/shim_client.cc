#include "worker/agent/shim_client.h"

#include "worker/dir/attempt_dir.h"
#include "worker/shim/control_server.h"

namespace rm {
namespace {

constexpr Seconds kWriteTimeout{0};  // a command fits the socket's buffer

}  // namespace

void ShimClient::tend() {
    if (!connection_.open()) connect();
    if (!connection_.open()) return;
    if (stop_ && !told_) {
        told_ = true;
        say(to_json(StopCommand{stop_->mode, stop_->grace}));
    }
    if (!connection_.open()) return;
    const bool still_open = connection_.read_available();
    // Exits are read from the directory: a message only wakes the daemon.
    while (connection_.next_line()) {
    }
    if (!still_open) connection_.close();
}

void ShimClient::connect() {
    Result<UniqueFd> socket = connect_in(dir_, kShimSocket);
    if (!socket) return;
    connection_ = LineConnection(std::move(*socket));
    told_ = false;
    say(R"({"command":"attach"})");
}

void ShimClient::stop(const StopAttempt& stop) {
    stop_ = stop;
    told_ = false;
    tend();
}

void ShimClient::say(const std::string& line) {
    if (!connection_.write_line(line, kWriteTimeout)) connection_.close();
}

}  // namespace rm
