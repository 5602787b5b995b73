#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "spec/session.h"

// The worker's decisions as a pure state machine: fencing, launching, re-attaching, reports to the
// controller. Time arrives inside inputs; files, processes and streams are reached through
// outputs.
namespace rm {

// The daemon's state at start: the identity it keeps on disk and the attempt directories.
struct WorkerFacts {
    NodeId node;
    ClusterId cluster;  // empty: never joined one
    Epoch highest_epoch;
    std::string build;
    std::string boot_id;
    Inventory inventory;
    std::vector<AttemptStatus> attempts;
    std::vector<LaunchAttempt> launches;  // of attempts whose directories record it
    std::vector<RootInfo> roots;          // declared; none: every path is allowed
    int probe_port = 0;                   // 0: no probe server
    std::string machine;                  // see Hello
    std::string network;
    std::vector<MeasuredProfile> profiles;
    std::vector<DataAddress> data_addresses;  // see Hello
};

// ---- inputs
struct SessionUp {};    // a stream is open; no message yet
struct SessionDown {};  // it has ended
struct Received {
    ControllerMessage message;
};
// The present state of the attempt's directory; arrives several times a second, changed or not.
struct ShimObserved {
    AttemptStatus status;
    MonoTime now;
};
struct ShimNotStarted {
    Epoch epoch;
    std::string reason;
};
// Both arrive every few seconds, changed or not.
struct DevicesObserved {
    DevicesReport report;
};
struct RootsObserved {
    std::vector<RootInfo> roots;
};
struct ProbeDone {
    ProbeReport report;
};
// FilesChecked and RootProbed answer CheckFiles and ProbeRoot, possibly in a later session.
using WorkerInput =
    std::variant<SessionUp, SessionDown, Received, ShimObserved, ShimNotStarted, RootsObserved,
                 DevicesObserved, FilesChecked, RootProbed, ProbeDone>;

// ---- outputs, carried out in their order
// Must be on disk before any later output of the same batch is carried out.
struct PersistIdentity {
    ClusterId cluster;
    Epoch highest_epoch;
    bool operator==(const PersistIdentity&) const = default;
};
struct SendMessage {
    WorkerMessage message;
};
// The controller's commands to this machine: start or stop a shim, remove an attempt's directory,
// or answer a question, which may take a while.
using WorkerCommand = std::variant<LaunchAttempt, StopAttempt, ForgetAttempt, CheckFiles, ProbeRoot,
                                   ExpectProbe, RunProbe>;
// The controller at the other end must not command this worker.
struct EndSession {
    std::string reason;
};
using WorkerOutput = std::variant<PersistIdentity, SendMessage, EndSession, WorkerCommand>;

// How long a shim has to stop its ranks when a higher epoch claims one of their devices.
constexpr Seconds kTakeoverGrace{10};
// A status in which only step, phase or collectives changed is sent at most this often.
constexpr Seconds kProgressInterval{1};
// An unchanged status is sent this often once a rank has been quiet for that long.
constexpr Seconds kQuietInterval{5};

// Rules:
//  * a session may command after a HelloReply with this worker's protocol and cluster; a worker
//    that never joined a cluster joins the first that greets it;
//  * an epoch below the highest seen is refused; the highest is on disk before anything is started;
//  * a launch of a known epoch is answered with its status, whatever the command contains;
//  * ranks listen at an address that this worker offers, or not at all;
//  * a device of a live attempt goes to a higher epoch only: the older shim is told to stop and the
//    launch follows when no process of it is left;
//  * questions are answered and probes run only for a controller that may command.
class WorkerCore {
public:
    explicit WorkerCore(WorkerFacts facts);

    std::vector<WorkerOutput> apply(const WorkerInput& input);

    Hello hello() const;
    ClusterId cluster() const { return facts_.cluster; }
    Epoch highest_epoch() const { return facts_.highest_epoch; }
    // The core has accepted the controller of the present session.
    bool accepted() const { return session_ == Session::accepted; }

private:
    enum class Session { down, greeting, accepted, refused };
    struct Attempt {
        AttemptStatus status;
        std::optional<LaunchAttempt> launch;  // as it was commanded
        std::optional<AttemptStatus> sent;    // last status sent on the present session
        MonoTime sent_at;
    };
    using Outputs = std::vector<WorkerOutput>;

    void on(const SessionUp& input, Outputs& out);
    void on(const SessionDown& input, Outputs& out);
    void on(const Received& input, Outputs& out);
    void on(const ShimObserved& input, Outputs& out);
    void on(const ShimNotStarted& input, Outputs& out);
    void on(const RootsObserved& input, Outputs& out);
    void on(const DevicesObserved& input, Outputs& out);
    void on(const FilesChecked& input, Outputs& out);
    void on(const RootProbed& input, Outputs& out);
    void on(const ProbeDone& input, Outputs& out);

    void on_message(const HelloReply& reply, Outputs& out);
    void on_message(const Ping& ping, Outputs& out);
    void on_message(const LaunchAttempt& launch, Outputs& out);
    void on_message(const StopAttempt& stop, Outputs& out);
    void on_message(const ForgetAttempt& forget, Outputs& out);
    // Passes on commands that touch no attempt.
    template <typename Question>
    void on_message(const Question& question, Outputs& out) {
        if (accepted()) out.push_back(WorkerCommand(question));
    }

    std::string reason_to_refuse(const LaunchAttempt& launch) const;
    void stop_claimants(const LaunchAttempt& launch, Outputs& out);
    bool device_is_free_for(const LaunchAttempt& launch) const;
    void start_what_can(Outputs& out);
    void give_up(Epoch epoch, const std::string& reason, Outputs& out);

    void send(WorkerMessage message, Outputs& out) const;
    void send_status(Attempt& attempt, Outputs& out);
    static bool is_due(const Attempt& attempt, MonoTime now);
    void refuse(Epoch epoch, std::string reason, Outputs& out) const;

    WorkerFacts facts_;  // its attempts and launches are moved into attempts_
    Session session_ = Session::down;
    std::map<Epoch, Attempt> attempts_;
    std::map<Epoch, LaunchAttempt> waiting_;  // accepted; an older attempt still holds a device
};

}  // namespace rm
