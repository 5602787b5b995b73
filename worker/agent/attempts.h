#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "spec/session.h"
#include "worker/agent/attempt_view.h"
#include "worker/agent/exchange_server.h"
#include "worker/agent/launch_files.h"
#include "worker/agent/shim_client.h"
#include "worker/agent/telemetry_spool.h"
#include "worker/roots/root_paths.h"

namespace rm {

struct AttemptsOptions {
    std::string state_dir;                  // absolute; attempts/ and runs/ lie below it
    std::vector<std::string> shim_command;  // + the attempt's directory
    RankTerms terms;                        // command: + the attempt's directory and the rank
    Inventory inventory;                    // devices: threads and peak of each rank; data address
    std::vector<DeclaredRoot> roots;        // all paths of a job must lie below one; none: anywhere
};

// The directory of an attempt below `state_dir` of which processes run; empty: none does.
std::string live_attempt_in(const std::string& state_dir);

// All attempts with a directory on this node. Starts shims, finds those that an earlier daemon
// started, and talks to them. Thread safe; never waits for a process.
class Attempts {
public:
    // Adopts every directory it finds. `rendezvous` outlives the object.
    static Result<std::unique_ptr<Attempts>> open(AttemptsOptions options, Rendezvous& rendezvous);

    Status start(const LaunchAttempt& launch);
    void stop(const StopAttempt& stop);
    void stop_all(StopMode mode, Seconds grace);
    bool any_left() const;  // a process of any attempt, at the last look
    // Whether the controller has all telemetry that is in the files now.
    bool drained() const;
    // Removes the directory once its telemetry has been handed over, at the latest kKeepForgotten
    // later.
    void forget(Epoch epoch, MonoTime now);

    // Launches as commanded, by epoch; omits attempts whose directory does not record it.
    std::vector<LaunchAttempt> launches() const;

    // The present state of all directories, by epoch. Also tends the shims' connections.
    std::vector<Observation> look(MonoTime now);
    // Returns early when a shim sends something.
    void wait(Seconds timeout) const;

    // The telemetry stream; see TelemetrySpool.
    std::optional<SpooledPiece> next_piece();
    void rewind();
    void acknowledge(Epoch epoch, int rank, std::int64_t reports_offset, std::int64_t log_offset);

    static constexpr Seconds kKeepForgotten{24 * 3600};

private:
    struct Attempt {
        Attempt(AttemptDir dir_, const AttemptFile& file)
            : dir(std::move(dir_)), view(dir, file), shim(dir.path()), spool(dir, file) {}
        AttemptDir dir;
        AttemptView view;
        ShimClient shim;
        TelemetrySpool spool;
        std::unique_ptr<ExchangeServer> exchange;  // while it lives
        pid_t shim_pid = 0;                        // 0: this process is not the shim's parent
        bool live = true;
        std::optional<MonoTime> forgotten;
    };

    Attempts(AttemptsOptions options, Rendezvous& rendezvous);
    Status take_up_existing();
    Status take_up(const std::string& path);
    Status start_in(const AttemptDir& dir, const LaunchAttempt& launch);
    Observation look_at(Attempt& attempt, MonoTime now);
    bool may_go(const Attempt& attempt, MonoTime now) const;

    const AttemptsOptions options_;
    const SystemClock clock_;
    const std::string attempts_dir_;
    Rendezvous& rendezvous_;
    mutable std::mutex mutex_;
    std::map<Epoch, std::unique_ptr<Attempt>> attempts_;
};

}  // namespace rm
