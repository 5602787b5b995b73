#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/network.h"
#include "tests/sim/plants.h"
#include "tests/sim/truth.h"
#include "worker/core/worker_core.h"
#include "worker/session/backoff.h"

// One node: its disk, the worker daemon around the product's core (by the rules of
// worker/session), and the shims with their ranks, which outlive the daemon.
namespace rm::sim {

struct SimRank {
    int rank = 0;
    int device = 0;
    bool alive = true;
    bool recorded = false;  // its shim saw how it ended
    int code = 0;
    int signal = 0;
    std::string error;
    std::int64_t exit_order = 0;
    bool hung = false;
    bool suspended = false;
    int waits_for = -1;  // in a collective that does not end

    bool healthy() const { return alive && !hung && !suspended; }
};

// An attempt's directory and, while `live`, its processes.
struct SimShim {
    LaunchAttempt launch;
    std::vector<SimRank> ranks;
    bool live = true;
    bool stop_asked = false;
    std::int64_t step = 0;
    std::string phase = "starting";
    double changed = 0;  // when its progress pages did
    double longest_quiet = 0;
    std::int64_t checkpoint_step = 0;
    std::string checkpoint_path;
};

class SimWorker {
public:
    struct Parts {
        Simulator& sim;
        Network& network;
        Truth& truth;
        Plant plant = Plant::none;
        int index = 0;
        int num_devices = 2;
        bool old = false;                         // speaks the previous protocol
        bool roots = false;                       // declares a root for everything
        std::set<std::string>* shares = nullptr;  // the nonces in its checkpoint directory
        // A shim has started its ranks.
        std::function<void(const LaunchAttempt&)> on_launch;
    };
    explicit SimWorker(Parts parts);

    const NodeId& id() const { return id_; }
    bool powered() const { return powered_; }
    bool old() const { return parts_.old; }
    Epoch highest_epoch() const { return disk_.highest; }
    bool in_session() const { return core_ && core_->accepted(); }

    void start_daemon();
    void kill_daemon();              // and it starts again after a while
    void kill_node(double seconds);  // everything on it dies; it boots again
    void drop_session();             // a stream breaks
    void fill_disk(double seconds);
    void lose_root(double seconds);  // nothing is mounted there
    void receive(int stream, const Packet& packet);
    // A second controller of this cluster commands the worker for a moment.
    void obey_twin(const LaunchAttempt& launch);

    std::map<Epoch, SimShim>& shims() { return shims_; }
    void exit_rank(SimShim& shim, SimRank& rank, int code, int signal, std::string error);
    void kill_shim(SimShim& shim);  // its ranks die with it, and no exit is recorded
    void progress(SimShim& shim, std::int64_t step, const std::string& phase);

private:
    struct Identity {
        ClusterId cluster;
        Epoch highest;
    };

    void later(double seconds, Simulator::Action action);  // if the same daemon still runs
    void connect();
    void end_session();
    void keep_alive(int stream);
    void look();
    AttemptStatus status_of(const SimShim& shim) const;
    RankStatus status_of(const SimShim& shim, const SimRank& rank) const;

    void handle(const WorkerInput& input);
    void carry_out(const std::vector<WorkerOutput>& outputs);
    void perform(const PersistIdentity& identity);
    void perform(const SendMessage& message);
    void perform(const EndSession& end);
    void perform(const WorkerCommand& command);
    void obey(const LaunchAttempt& launch);
    void obey(const StopAttempt& stop);
    void obey(const ForgetAttempt& forget);
    void obey(const CheckFiles& check);
    void obey(const ProbeRoot& asked);
    // The simulation runs no surveys.
    void obey(const ExpectProbe&) {}
    void obey(const RunProbe&) {}
    std::vector<RootInfo> roots_now() const;
    // Answers come after a while, from a thread that may hang.
    void answer(WorkerInput input);
    Status start_fenced(const LaunchAttempt& launch);
    Status persist(const PersistIdentity& identity);
    void start_shim(const LaunchAttempt& launch);
    void kill_ranks(Epoch epoch, const std::string& why);
    void end_shim(SimShim& shim);

    const Parts parts_;
    Simulator& sim_;
    const NodeId id_;
    Identity disk_;
    bool disk_full_ = false;
    bool root_lost_ = false;
    int mounts_ = 1;
    bool powered_ = true;
    int boots_ = 1;
    int life_ = 0;  // of the daemon
    std::map<Epoch, SimShim> shims_;
    std::optional<WorkerCore> core_;
    std::optional<Backoff> backoff_;
    Status persisted_;
    int stream_ = 0;  // 0: none
    double heard_ = 0;
    std::int64_t exits_ = 0;
};

}  // namespace rm::sim
