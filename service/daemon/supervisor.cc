#include "service/daemon/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/format.h"
#include "base/os/unique_fd.h"
#include "base/text.h"

namespace rm {
namespace {

std::string take_variable(const char* name) {
    const char* const value = std::getenv(name);
    const std::string text = value == nullptr ? "" : value;
    ::unsetenv(name);
    return text;
}

}  // namespace

Supervisor Supervisor::from_environment() {
    Supervisor supervisor;
    supervisor.socket_ = take_variable("NOTIFY_SOCKET");
    const std::string micros = take_variable("WATCHDOG_USEC");
    const std::string pid = take_variable("WATCHDOG_PID");
    const bool is_ours = pid.empty() || pid == format("{}", ::getpid());
    const auto period = parse_number<std::int64_t>(micros);
    if (is_ours && period && *period > 0)
        supervisor.alive_every_ = Seconds{static_cast<double>(*period) / 2e6};
    return supervisor;
}

void Supervisor::ready() const {
    send("READY=1", 0);
}
void Supervisor::stopping() const {
    send("STOPPING=1", 0);
}
bool Supervisor::status(const std::string& text) const {
    std::string line = text;
    std::replace(line.begin(), line.end(), '\n', ' ');
    return send("STATUS=" + line, MSG_DONTWAIT);
}
void Supervisor::alive() const {
    send("WATCHDOG=1", MSG_DONTWAIT);
}

// A datagram each, as the supervisor may bind its socket anew.
bool Supervisor::send(const std::string& message, int flags) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return true;
    std::copy(socket_.begin(), socket_.end(), address.sun_path);
    if (socket_[0] == '@') address.sun_path[0] = '\0';  // a name without a file
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return ::sendto(fd.get(), message.data(), message.size(), flags | MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&address), length) >= 0;
}

}  // namespace rm
