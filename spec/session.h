#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "spec/failure.h"
#include "spec/job_spec.h"
#include "spec/machine/gpu.h"
#include "spec/machine/probe.h"
#include "spec/machine/roots.h"
#include "spec/plan.h"
#include "spec/report.h"

// Messages between a worker and the controller as plain values: the cores and the session loops use
// these; service/convert turns them into messages of proto/ringmaster/v1/worker.proto and back.
namespace rm {

// The controller serves this version and the one before. 2: hello carries launches, ranks report
// the rank that they wait for, exports ask before they are published. 3: roots; the link survey.
constexpr std::uint32_t kProtocol = 3;

struct DeviceInfo {
    int index = 0;
    std::string kind;  // "cpu", "emu" or a GPU's name, "L40S"
    Bytes memory;
    Peak fp32;  // measured, with each precision of compute
    Peak bf16;
    int num_threads = 1;  // of a CPU slot
    Bytes host_memory;    // beside a GPU, its rank's share of the host's; 0: unknown
    std::string unfit;    // why no job may use it; empty: they may
    bool lost = false;    // it answers no more, nor does what runs there
    GpuFacts gpu;
    bool operator==(const DeviceInfo&) const = default;

    const Peak& peak(Precision precision) const {
        return precision == Precision::bf16 ? bf16 : fp32;
    }
};

// An address at which ranks can listen.
struct DataAddress {
    std::string address;
    std::string network;  // of its interface, "10.1.0.0/16"
    bool operator==(const DataAddress&) const = default;
};

// Returns whether that changes any.
bool set_fitness(std::vector<DeviceInfo>& devices, const DevicesReport& report);

struct Inventory {
    std::string hostname;
    std::string os;
    std::string cpu_model;
    int num_cores = 0;
    Bytes memory;
    std::vector<DeviceInfo> devices;
    std::string data_address;  // where its ranks listen for each other
    std::string http_address;  // host:port of its /metrics, with https:// if over TLS; or empty
    GpuSoftware software;
    bool operator==(const Inventory&) const = default;
};

// Tells the measured profiles of one kind of device apart, beside the kind: a GPU's driver, as
// it is measured in bf16 alone; of CPU slots the CPU's model, the threads of each and the precision
// of compute.
std::string profile_driver(const Inventory& inventory, std::string_view kind, Precision precision);

struct RankStatus {
    int rank = 0;
    int device = 0;
    bool running = false;
    bool training = false;  // its first step has begun
    bool exited = false;
    int exit_code = 0;  // kRankFinished, kRankStopped; others: it failed
    int exit_signal = 0;
    std::string error;  // its last error message
    std::int64_t step = 0;
    std::string phase;
    std::string last_collective;  // the last it entered
    std::int64_t collectives_entered = 0;
    std::int64_t collectives_left = 0;  // one less than entered: still in last_collective
    int waits_for = -1;                 // the peer's rank that last_collective waits for; -1: none
    // Time since its progress page last changed, by its worker's monotonic clock. Zero, like
    // longest_quiet, while no usual duration is known: before the end of a stage's first step, and
    // during checkpoints and evaluations.
    Seconds quiet;
    Seconds longest_quiet;                   // the longest in its recent steps: the usual maximum
    bool suspended = false;                  // stopped by a signal or a debugger
    std::int64_t exit_order_mono_nanos = 0;  // orders the exits of one node
    GpuUse gpu;
    bool operator==(const RankStatus&) const = default;
};

// The complete status of one attempt on one node.
struct AttemptStatus {
    Epoch epoch;
    JobId job;
    std::vector<RankStatus> ranks;
    bool processes_left = false;  // false: no process of this attempt is left on this node
    std::int64_t checkpoint_step = 0;
    std::string checkpoint_path;
    int stages_done = 0;
    std::string launch_error;  // why the shim could not be started; then there are no ranks
    bool operator==(const AttemptStatus&) const = default;
};

struct RankLaunch {
    int rank = 0;
    int device = 0;
    bool operator==(const RankLaunch&) const = default;
};
// Idempotent: a worker that already has this epoch answers with its status.
struct LaunchAttempt {
    Epoch epoch;
    JobId job;
    JobSpec spec;
    Plan plan;  // placement is left empty: `ranks` lists this node's ranks
    std::vector<RankLaunch> ranks;
    std::string checkpoint_dir;
    // Lets a controller restored from a backup older than this job list it again.
    std::string owner;
    std::string yaml;
    std::string data_address;  // where its ranks listen for each other; empty: the worker's default
    bool operator==(const LaunchAttempt&) const = default;
};

struct Hello {
    std::uint32_t protocol = kProtocol;
    std::string build;  // hash of engine + kernels
    NodeId node;
    ClusterId cluster;  // empty: never joined one
    Epoch highest_epoch;
    std::string boot_id;
    Inventory inventory;
    std::vector<AttemptStatus> attempts;
    std::vector<LaunchAttempt> launches;  // the commands that started `attempts`
    std::vector<RootInfo> roots;          // declared on this worker; none: every path is allowed
    int probe_port = 0;                   // of its probe server, on its data addresses; 0: none
    std::string machine;  // equal on workers that see the same files; empty: unknown
    std::string network;  // equal on workers that share a loopback interface; empty: unknown
    std::vector<MeasuredProfile> profiles;  // one of each kind of GPU that it offers
    // Among which the survey chooses, the inventory's first; empty: the inventory's only.
    std::vector<DataAddress> data_addresses;
    bool operator==(const Hello&) const = default;
};
struct Pong {
    std::uint64_t nonce = 0;
};
struct CommandRefused {
    Epoch epoch;
    std::string reason;
};
using WorkerMessage = std::variant<Hello, Pong, AttemptStatus, CommandRefused, RootsReport,
                                   FilesChecked, RootProbed, ProbeReport, DevicesReport>;

struct HelloReply {
    ClusterId cluster;
    std::uint32_t protocol = kProtocol;
    Seconds ping_interval{5};
};
struct Ping {
    std::uint64_t nonce = 0;
};
enum class StopMode { graceful, now };
struct StopAttempt {
    Epoch epoch;
    StopMode mode = StopMode::graceful;
    Seconds grace{60};
    bool operator==(const StopAttempt&) const = default;
};
// The controller has the end of this attempt on disk: the worker may delete its directory.
struct ForgetAttempt {
    Epoch epoch;
    bool operator==(const ForgetAttempt&) const = default;
};
using ControllerMessage = std::variant<HelloReply, Ping, LaunchAttempt, StopAttempt, ForgetAttempt,
                                       CheckFiles, ProbeRoot, ExpectProbe, RunProbe>;

// One side of a session: blocking, one reader and one writer thread. In memory in tests, gRPC in
// service/ and the daemons.
template <typename In, typename Out>
class MessageStream {
public:
    virtual ~MessageStream() = default;
    virtual bool read(In& message) = 0;          // false: the stream has ended
    virtual bool write(const Out& message) = 0;  // false: the stream has ended
    virtual void cancel() = 0;  // ends it from any thread; read and write return false
};

}  // namespace rm
