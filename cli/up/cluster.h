#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "cli/client/client.h"
#include "cli/client/signals.h"
#include "cli/screen/console.h"
#include "cli/up/cluster_file.h"
#include "cli/up/daemon.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"
#include "service/state_dir.h"

namespace rm {

struct ClusterOptions {
    std::string state_dir;
    int num_workers = 4;
    int devices_per_worker = 1;
    std::string device_kind = "cpu";  // cpu, cuda or emu
    std::string profile = "auto";     // whether workers measure GPUs: see their --profile
    std::string prices;               // a price list; empty: none
    std::string listen;               // host:port for gRPC beside the Unix socket; empty: none
    std::string http;  // host:port of the controller's HTTP; empty: none. Workers' then listen too
};

// A controller and its workers as child processes on one state directory. One thread starts,
// watches and stops them. The destructor kills those that stop() has not ended.
class LocalCluster {
public:
    // Starts everything and waits until the controller has every worker's session, at most a
    // minute, and two more in which workers measure their devices. If a daemon ends before that,
    // the error has its last words; CANCELLED after an interrupt.
    static Result<LocalCluster> start(const ClusterOptions& options, Signals& signals,
                                      Client::Note note);
    LocalCluster(LocalCluster&&) noexcept = default;

    Client& client() { return *client_; }
    const ClusterFile& file() const { return file_; }
    const std::string& state_dir() const { return state_.path(); }
    // Names a daemon that has ended, with its last words.
    Status check();
    // Workers first: they checkpoint and stop their ranks. Kills the daemons that are left after
    // `grace`, and then returns an error.
    Status stop(Seconds grace, Signals& signals);

private:
    LocalCluster(StateDir state, ClusterPaths paths, Client::Note note)
        : state_(std::move(state)), paths_(std::move(paths)), note_(std::move(note)) {}

    Status start_controller(const ClusterOptions& options);
    Status start_workers(const ClusterOptions& options);
    Status wait_for_controller(Signals& signals);
    Status wait_for_workers(const ClusterOptions& options, Signals& signals);
    Status wait_until_gone(std::vector<DaemonProcess>& daemons, Seconds limit, Signals& signals);

    StateDir state_;
    ClusterPaths paths_;
    Client::Note note_;
    ClusterFile file_;
    std::vector<DaemonProcess> controller_;  // one, or none yet
    std::vector<DaemonProcess> workers_;
    std::optional<Client> client_;
};

// Submits one job to a local cluster and follows it until it ends. The first interrupt cancels it
// with a checkpoint, the second at once; both return 130. FAILED_PRECONDITION with every reason
// when the job can never start here: no worker joins a private cluster later.
Result<ExitCode> run_job(const pb::JobSpec& spec, LocalCluster& cluster, Signals& signals,
                         Console& console);

// Cancels every live job with a checkpoint and waits until none is left, at most `limit` or until
// an interrupt, so that history says "cancelled", not that the ranks went away.
Status cancel_live_jobs(LocalCluster& cluster, Signals& signals, Console& console, Seconds limit);

// job a1b2c3 demo succeeded: 100 steps, 819,200 tokens in 3m12s, losses and the checkpoint. Pure.
std::string job_summary(const pb::Job& job);

}  // namespace rm
