#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "controller/core/state.h"
#include "controller/http/routes.h"
#include "controller/join/join_book.h"
#include "controller/loops/discovery_loop.h"
#include "controller/session.h"
#include "controller/store/backup.h"
#include "controller/store/space_guard.h"
#include "controller/survey/survey_core.h"
#include "service/security/authenticator.h"
#include "service/security/pki.h"

namespace rm {

struct DaemonOptions {
    std::string state_dir;
    std::vector<std::string> listen;  // unix:/path or host:port, on loopback without `tls`
    std::string http;                 // host:port, on loopback without `tls`; empty: none
    std::optional<KeyPair> tls;       // PEM; every TCP address speaks TLS
    AuthenticatorFiles credentials;   // define the accepted credentials
    JoinOptions join;                 // how machines become nodes
    MetricsAccess metrics = MetricsAccess::as_a_viewer;
    std::string version;
    Bytes rank_log_cap{64 << 20};
    Seconds max_bypass = kMaxBypass;  // PlanningSnapshot::max_bypass
    PriceList prices;                 // what devices cost
    SpaceMarks space;
    SessionOptions session;
    SurveyOptions survey;
    DiscoveryOptions discovery;
    // The command of plan_in_child(), which plans; empty: this process plans (tests).
    std::vector<std::string> planner;
    std::function<void(const std::string&)> on_fatal;  // ends the process
    // The control loop lives: it answers prove_life(), or waits for another program that holds the
    // tables. On its thread.
    std::function<void()> on_life;
};

// The whole controller: state directory, stores, loops, services, HTTP, wired. While it runs,
// <state_dir>/controller.json says {"pid", "grpc": [addresses], "http"}.
class Daemon {
public:
    // FAILED_PRECONDITION: another controller holds the state directory, or a database is newer
    // than this program. UNAVAILABLE: an address is in use.
    static Result<std::unique_ptr<Daemon>> start(DaemonOptions options);
    virtual ~Daemon() = default;  // ends calls and sessions, stores what is queued

    virtual const std::vector<std::string>& grpc_addresses() const = 0;
    virtual std::string http_address() const = 0;  // empty: none
    virtual void prove_life() = 0;                 // leads to DaemonOptions::on_life
};

// Replaces the database of a stopped controller by a backup; returns a message for the user.
// FAILED_PRECONDITION: a controller runs on that state directory.
Result<std::string> restore_state(const Backups& backups, const std::string& state_dir);

}  // namespace rm
