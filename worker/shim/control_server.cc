#include "worker/shim/control_server.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace rm {
namespace {

using nlohmann::json;

// Answers are short; they fit a socket's buffer unless the peer has stopped reading.
constexpr Seconds kWriteTimeout{0};

Result<ShimCommand> parse_stop(const json& value) {
    StopCommand stop;
    const std::string mode = value.value("mode", "graceful");
    if (mode != "graceful" && mode != "now") {
        return invalid_argument("stop mode '{}' is neither graceful nor now", mode);
    }
    stop.mode = mode == "now" ? StopMode::now : StopMode::graceful;
    stop.grace = Seconds{value.value("grace_seconds", stop.grace.value)};
    return ShimCommand(stop);
}

}  // namespace

Result<ShimCommand> parse_shim_command(std::string_view line) {
    try {
        const json value = json::parse(line);
        const std::string command = value.at("command").get<std::string>();
        if (command == "attach") return ShimCommand(AttachCommand{});
        if (command == "ping") return ShimCommand(PingCommand{});
        if (command == "stop") return parse_stop(value);
        return invalid_argument("command '{}' is none of attach, ping, stop", command);
    } catch (const json::exception& error) {
        return invalid_argument("not a command: {}", error.what());
    }
}

std::string to_json(const StopCommand& stop) {
    const char* mode = stop.mode == StopMode::now ? "now" : "graceful";
    return json{{"command", "stop"}, {"mode", mode}, {"grace_seconds", stop.grace.value}}.dump();
}

void ControlServer::add_to(std::vector<pollfd>& entries) const {
    entries.push_back({listener_.get(), POLLIN, 0});
    for (const Peer& peer : peers_)
        entries.push_back({peer.connection.fd(), POLLIN, 0});
}

std::vector<StopCommand> ControlServer::serve() {
    std::vector<StopCommand> stops;
    while (auto socket = accept_connection(listener_.get())) {
        peers_.push_back({LineConnection(std::move(*socket)), false});
    }
    for (Peer& peer : peers_) {
        const bool still_open = peer.connection.read_available();
        while (const auto line = peer.connection.next_line())
            answer(peer, *line, stops);
        if (!still_open) peer.connection.close();
    }
    peers_.remove_if([](const Peer& peer) { return !peer.connection.open(); });
    return stops;
}

void ControlServer::answer(Peer& peer, const std::string& line, std::vector<StopCommand>& stops) {
    const Result<ShimCommand> command = parse_shim_command(line);
    if (!command) return say(peer, json{{"ok", false}, {"error", command.error().message}}.dump());
    if (std::holds_alternative<AttachCommand>(*command)) peer.is_daemon = true;
    if (const auto* stop = std::get_if<StopCommand>(&*command)) stops.push_back(*stop);
    say(peer, R"({"ok":true})");
}

void ControlServer::announce_exit(int rank) {
    for (Peer& peer : peers_) {
        if (peer.is_daemon) say(peer, json{{"event", "exit"}, {"rank", rank}}.dump());
    }
}

void ControlServer::say(Peer& peer, const std::string& line) {
    if (peer.connection.open() && !peer.connection.write_line(line, kWriteTimeout)) {
        peer.connection.close();
    }
}

int ControlServer::num_daemons() const {
    return static_cast<int>(std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) {
        return peer.is_daemon && peer.connection.open();
    }));
}

}  // namespace rm
