#pragma once

#include <optional>
#include <string>

#include "spec/session.h"
#include "worker/dir/unix_socket.h"

namespace rm {

// The daemon's connection to one shim. It stays open as long as the shim lives, so that a shim with
// OrphanMode::stop does not stop its ranks. Never waits.
class ShimClient {
public:
    explicit ShimClient(std::string dir) : dir_(std::move(dir)) {}

    // Connects if necessary, reads the shim's messages, and resends a stop not yet delivered.
    void tend();
    // Kept until delivered, also over reconnects; the shim keeps the shorter of two graces.
    void stop(const StopAttempt& stop);
    int fd() const { return connection_.fd(); }  // -1: not connected

private:
    void connect();
    void say(const std::string& line);

    const std::string dir_;
    LineConnection connection_;
    std::optional<StopAttempt> stop_;
    bool told_ = false;
};

}  // namespace rm
