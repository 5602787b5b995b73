#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "controller/session.h"

namespace rm {

struct DaemonOptions {
    std::string state_dir;
    std::vector<std::string> listen;  // unix:/path or loopback host:port
    std::string http;                 // loopback host:port; empty: none
    std::string version;
    Bytes rank_log_cap{64 << 20};
    SessionOptions session;
    // The program that plans, plan_in_child()'s command; empty: planned in this process (tests).
    std::vector<std::string> planner;
    std::function<void(const std::string&)> on_fatal;  // ends the process
};

// The whole controller: state directory, stores, loops, services, HTTP, wired. While it runs,
// <state_dir>/controller.json says {"pid", "grpc": [addresses], "http"}.
class Daemon {
public:
    // FAILED_PRECONDITION: another controller holds the state directory, or a database is newer
    // than this program. UNAVAILABLE: an address is in use.
    static Result<std::unique_ptr<Daemon>> start(DaemonOptions options);
    virtual ~Daemon() = default;  // ends calls and sessions, keeps what is queued

    virtual const std::vector<std::string>& grpc_addresses() const = 0;
    virtual std::string http_address() const = 0;  // empty: none
};

}  // namespace rm
