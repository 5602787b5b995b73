#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "controller/core/names.h"
#include "spec/job_spec.h"
#include "spec/plan.h"
#include "spec/reason.h"
#include "spec/session.h"

// The controller's knowledge. The tables of control.db are the durable part (core/columns.h lists
// it); sessions and indexes are rebuilt at start. Only core/step.h changes a State. Times are of
// two kinds: wall time for people and history; rules compare steady times, which setting the clock
// does not change (see Input). Fields of steady time say so.
namespace rm {

constexpr Seconds kUnreachableAfter{60};  // without a session
constexpr Seconds kMaxBypass{3600};       // see PlanningSnapshot; unless an option says another

// After a restore the tables may lack running attempts: the controller plans nothing for this long,
// or until the workers have reported them.
constexpr Seconds kRestoreHold{60};
// No epoch issued since the backup lies above this jump, even if its worker has not reported yet.
constexpr std::int64_t kRestoreEpochJump = std::int64_t{1} << 20;

constexpr int kNoExit = -1;  // it has not exited, or its exit was not observed

// One rank of an attempt: where it sits and what became of it.
struct RankRecord {
    DeviceId device;  // no node: an adopted attempt's rank whose worker has not spoken yet
    RankState state = RankState::placed;
    int exit_code = kNoExit;
    int exit_signal = 0;
    std::string error;  // its own error message
    double joules = 0;  // that its GPU has used, once it has ended
    bool operator==(const RankRecord&) const = default;
};

// One execution of a job. Only the newest of a job can live.
struct Attempt {
    Epoch epoch;
    JobId job;
    AttemptState state = AttemptState::starting;
    Mesh mesh;
    int zero = 0;  // ZeRO stage
    MemoryPolicy memory;
    NetworkKind network = NetworkKind::gloo;
    Seconds collective_timeout{60};
    PlanPrediction predicted;
    Seconds measured_step;  // median of the last steps of the predicted stage; 0: not known yet
    Rates rates;            // of a device
    std::vector<RankRecord> ranks;  // by rank
    WallTime started;
    WallTime ended;  // zero while it lives
    StopReason stop_reason = StopReason::none;
    StopMode stop_mode = StopMode::graceful;
    std::string cause;    // why it ended, or is ending
    int cause_rank = -1;  // the rank that `cause` quotes; -1: none
    FailureClass failure_class = FailureClass::none;
    bool may_publish = false;  // it was told that its exports may replace what is there
    std::int64_t checkpoint_step = 0;
    std::string checkpoint_path;
    int stages_done = 0;
    bool operator==(const Attempt&) const = default;

    std::set<NodeId> nodes() const;      // without ranks whose node is unknown
    std::vector<DeviceId> held() const;  // of ranks that may have processes
    bool cleared() const;                // no process of it is left anywhere
};

struct Job {
    JobId id;
    std::int64_t number = 0;  // order of submission
    RequestId request;
    std::string project = "default";
    std::string owner = "default";
    JobSpec spec;
    std::string yaml;  // as the user wrote it
    JobState state = JobState::pending;
    WallTime submitted;
    WallTime ended;                  // zero while it lives
    Reasons blocking_reasons;        // never empty while pending
    std::string failure;             // of a failed job: the first failing rank's error message
    WallTime retry_at;               // no attempt before; zero: at once
    std::vector<DeviceId> excluded;  // devices no further attempt of it is placed on
    JobId continues;                 // the job whose checkpoint it began from
    bool recovered = false;          // taken over from a worker after a restore
    bool operator==(const Job&) const = default;
};

// A question to a node about the files of jobs, and its answer.
struct FilesAnswer {
    WallTime first_asked;
    WallTime asked;     // last
    WallTime answered;  // zero: never
    std::vector<FileFacts> facts;
};

// Facts of the present session only: a new hello states everything again.
struct NodeSession {
    bool up = false;
    WallTime since;       // of the last change of `up`, or of the controller's start
    WallTime silent;      // while it is down: since when nothing proves that it lives (steady)
    int probe_port = 0;   // where its links are probed; 0: they are not
    std::string machine;  // see Hello
    std::string network;
    std::vector<DataAddress> data_addresses;
    std::map<Epoch, AttemptStatus> reported;
    std::map<std::pair<Epoch, CommandKind>, WallTime> sent;  // steady
    std::vector<RootInfo> roots;                             // none: every path is allowed there
    std::map<std::string, std::string> places;     // by root; equal where it is one directory
    std::map<std::string, WallTime> probe_failed;  // by root: it could not write there
    std::map<std::string, FilesAnswer> files;      // by CheckFiles::key
};

// A running probe of which nodes share one directory under a root's name; core/questions.h.
struct RootProbe {
    std::string nonce;
    NodeId writer;
    ProbeStep step = ProbeStep::write;
    WallTime began;
    WallTime asked;            // for this step, last
    std::set<NodeId> waiting;  // nodes that have not answered it
    std::set<NodeId> seen;     // nodes that found the file, and the writer
};

struct Node {
    NodeId id;
    std::int64_t number = 0;  // order of registration
    NodeState state = NodeState::ready;
    Inventory inventory;
    std::string boot_id;
    std::string build;
    std::string drained;   // why nothing new is placed here; empty: it is in service
    bool removed = false;  // for good: it is gone, and no hello brings it back
    WallTime joined;
    WallTime last_seen;  // start or end of its last session
    NodeSession session;
};

// The newest measured profile of a kind of GPU with a driver.
struct KeptProfile {
    MeasuredProfile measured;
    NodeId node;    // that has measured it
    WallTime time;  // of its arrival
};
using ProfileKey = std::pair<std::string, std::string>;  // kind, driver
ProfileKey key_of(const MeasuredProfile& profile);

// A link far below its baseline, as measured by the survey that raised the alarm.
struct LinkAlarm {
    GbitPerSec baseline;
    GbitPerSec now;
    WallTime since;
    bool operator==(const LinkAlarm&) const = default;
};

// Pointers into State::jobs, by `number`. Moves with them; a copy of a State starts with an empty
// index, which must be rebuilt, since the pointers would refer to the original.
class JobIndex {
public:
    using Map = std::map<std::int64_t, const Job*>;

    JobIndex() = default;
    JobIndex(JobIndex&&) = default;
    JobIndex& operator=(JobIndex&&) = default;
    JobIndex(const JobIndex& /*other*/) {}
    JobIndex& operator=(const JobIndex& /*other*/) { return map_.clear(), *this; }
    ~JobIndex() = default;

    const Map& map() const { return map_; }
    void clear() { map_.clear(); }
    void add(const Job& job) { map_[job.number] = &job; }

private:
    Map map_;
};

struct State {
    ClusterId cluster;
    Epoch next_epoch{1};
    WallTime restored;  // when these tables were put back from a backup; zero: never
    std::map<JobId, Job> jobs;
    std::map<Epoch, Attempt> attempts;
    std::map<NodeId, Node> nodes;
    std::map<ProfileKey, KeptProfile> profiles;

    // Not stored: configuration, what telemetry.db keeps, and indexes over the tables.
    std::string checkpoint_root;  // for jobs without checkpoint.dir
    Seconds max_bypass = kMaxBypass;
    PriceList prices;
    std::map<NodeId, std::string> shapes;  // of machines that a provider lists: "l40s-48gb.10x"
    std::map<std::pair<NodeId, NodeId>, LinkAlarm> degraded_links;  // by ends: from, to
    std::uint64_t version = 0;           // of the whole state, since this start
    std::uint64_t planning_version = 1;  // of everything a plan depends on
    std::uint64_t planning_requested = 0;
    bool planning_held = false;  // it waits for workers after a restore; see hold_reason()
    WallTime held_until;         // at the latest (steady); zero: the tables were not restored
    std::set<NodeId> unheard;    // nodes of the backup without a hello since the restore
    std::set<JobId> live_jobs;
    std::map<RequestId, JobId> requests;
    JobIndex jobs_by_number;
    std::map<JobId, std::vector<Epoch>> attempts_of;  // oldest first
    std::map<JobId, std::uint64_t> revisions;         // `version` at a job's last change
    std::map<JobId, std::uint64_t> reasoned;  // `planning_version` of a pending job's reasons
    std::map<JobId, WallTime> queued;         // since when a job has been pending (steady)
    std::map<Epoch, WallTime> heard;  // of a live attempt: when a worker last reported it, or this
                                      // controller's start (steady)
    // Jobs that this node has failed to start in a row, with its errors.
    std::map<NodeId, std::map<JobId, std::string>> failed_launches;
    std::set<NodeId> declaring;               // nodes whose session declares roots
    std::map<std::string, RootProbe> probes;  // by root; at most one of each at a time
    std::set<Epoch> leftover;                 // attempts that ended while processes may be left
};

// Fills the indexes from the tables; sessions are down since `now`.
void rebuild_indexes(State& state, WallTime now);
// Updates the indexes for a new or changed attempt.
void index_attempt(State& state, const Attempt& attempt, WallTime now);

const Job* find_job(const State& state, const JobId& id);
const Attempt* find_attempt(const State& state, Epoch epoch);
const Node* find_node(const State& state, const NodeId& id);
const DeviceInfo* find_device(const Node& node, int index);
// The rates of each kind of device: by the shapes of its machines, where the list has them. A kind
// of several rates has those of the highest price, so that no plan costs more than it says.
PriceList prices_by_kind(const State& state);
// The rates of a device of this kind on this node.
Rates rates_of(const State& state, const Node& node, const std::string& kind);
// The status that the node's worker has reported in this session; null: none.
const AttemptStatus* find_status(const Node& node, Epoch epoch);
const RankStatus* find_status(const Node& node, Epoch epoch, int rank);
// The attempts of a job, oldest first; empty before the first.
const std::vector<Epoch>& epochs_of(const State& state, const JobId& id);
// The newest attempt of a job; null before the first.
const Attempt* newest_attempt(const State& state, const JobId& id);

// Takes an exact id, or the beginning of exactly one. NOT_FOUND and INVALID_ARGUMENT say which.
Result<JobId> resolve_job(const State& state, const std::string& text);
Result<NodeId> resolve_node(const State& state, const std::string& text);

// The degraded links between the attempt's own nodes.
std::map<std::pair<NodeId, NodeId>, LinkAlarm> degraded_links_of(const State& state,
                                                                 const Attempt& attempt);

// Includes nodes that are gone.
std::vector<const Node*> nodes_by_registration(const State& state);

// The attempts that live, by epoch.
std::vector<const Attempt*> live_attempts(const State& state);

// Whether the node has had no session for kUnreachableAfter, or is gone: the core stops waiting for
// its reports. False for an unknown node.
bool is_unreachable(const State& state, const NodeId& id, WallTime steady);

// A device's holder: a live or lost attempt, until its worker reports that nothing of it is left
// there, or an attempt whose processes a worker still sees. A device without a holder is free only
// while its node's session is up.
struct Holder {
    Epoch epoch;
    JobId job;
};
std::map<DeviceId, Holder> device_holders(const State& state);

// Why nothing is planned now: some node that is not gone has not said hello since the restore, and
// kRestoreHold has not passed. Empty: planning is free.
Reason hold_reason(const State& state, WallTime steady);

// Whether a hello of this node may add unknown attempts to the tables. Only after a restore, which
// may have lost them: once for a node that the tables know, and while planning is held for any
// other. At any other time this controller never commanded an unknown attempt.
bool may_adopt(const State& state, const NodeId& node, WallTime steady);

}  // namespace rm
