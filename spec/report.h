#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

// A rank's reports about its training: the engine makes them, the worker sends them, the controller
// keeps them.
namespace rm {

// Rate of matrix products against which MFU is measured.
struct Peak {
    double flops = 0;  // FLOP/s; 0: unknown
    std::string name;  // names the precision: "bf16 480 GFLOP/s measured 2026-01-02"
    bool operator==(const Peak&) const = default;
};

// A kind of memory as MemoryKind names it, and its location: reports write "weights" for device
// memory and "host weights" for state in host memory.
struct MemoryName {
    std::string_view kind;
    bool on_host = false;
};
constexpr std::string_view kOnHost = "host ";
constexpr MemoryName memory_name(std::string_view word) {
    const bool on_host = word.starts_with(kOnHost);
    return {word.substr(on_host ? kOnHost.size() : 0), on_host};
}
inline std::string on_host(std::string_view kind) {
    return std::string(kOnHost).append(kind);
}

struct MemoryReport {
    std::map<std::string, Bytes> by_kind;  // keys as MemoryName writes them
    Bytes total;                           // on the device

    void add(const std::string& kind, Bytes bytes) {
        by_kind[kind] += bytes;
        if (!memory_name(kind).on_host) total += bytes;
    }
    Bytes host_total() const {
        Bytes all;
        for (const auto& [kind, bytes] : by_kind)
            all += memory_name(kind).on_host ? bytes : Bytes{};
        return all;
    }
};

// A phase of a step. In an exposed phase, compute waits for the communication that the name states:
// reports write "ring_exposed".
struct StepPhase {
    std::string_view name;
    bool exposed = false;
};
constexpr std::string_view kExposed = "_exposed";
constexpr StepPhase step_phase(std::string_view word) {
    const bool exposed = word.ends_with(kExposed);
    return {word.substr(0, word.size() - (exposed ? kExposed.size() : 0)), exposed};
}
inline std::string exposed_phase(std::string_view name) {
    return std::string(name).append(kExposed);
}

// Traffic of one mesh axis in a step. Axes are named ring, ulysses, tensor, gradient (the ZeRO
// group: reduction and gathers), world.
struct AxisTraffic {
    std::int64_t bytes_sent = 0;  // by this rank
    double wait_seconds = 0;      // compute waiting for this axis: the exposed part
    bool operator==(const AxisTraffic&) const = default;
};

// Data received from one rank in a step, counting only messages long enough to measure a rate.
struct HopRate {
    std::int64_t bytes = 0;
    double bytes_per_second = 0;  // the best: a late sender makes single messages look slow
    bool operator==(const HopRate&) const = default;
};

// The effect that rounding to FP8 had in a step on the tensors of one place, of all layers and
// ranks. Shares are of the numbers that are finite and not 0.
struct Fp8TensorReport {
    double flushed = 0;    // the largest share that became 0
    double saturated = 0;  // the largest share that was too large for its scale
    double error = 0;      // the largest relative error of a tensor: root of the squares' ratio
    int layer = 0;         // that has this error
    bool operator==(const Fp8TensorReport&) const = default;
};

// One optimizer step as rank 0 sees it (from phase_seconds on, the groups are this rank's own).
struct StepReport {
    std::int64_t step = 0;       // 1 is the job's first; continues across stages and attempts
    std::int64_t num_steps = 0;  // of the job
    int stage = 0;
    std::int64_t tokens = 0;        // trained in this step
    std::int64_t tokens_total = 0;  // since the start of the job
    double loss = 0;                // nats per target token, mean over the step's targets
    double grad_norm = 0;           // before clipping
    bool finite = true;             // false: the update was skipped
    double learning_rate = 0;
    double diverged_above = 0;  // loss above which the run has diverged; 0: unknown
    double seconds = 0;
    double model_flops = 0;  // causal, all ranks
    double causal_mfu = 0;   // of the mesh's peak; 0 when the peak is unknown
    double full_mfu = 0;     // full-attention count, for comparison
    double hfu = 0;          // counts all executed products, recomputed ones too
    std::string peak_name;   // what MFU is measured against
    // Phases of this rank; they do not overlap and add up to `seconds`: attention, gemm (layers and
    // head except attention), ring_exposed, ulysses_exposed, tensor_exposed, gather_exposed
    // (ZeRO-3's weights) and reduce_exposed (compute waiting for others), checkpoint (waiting for
    // its writer), optimizer, data, idle (the rest).
    std::map<std::string, double> phase_seconds;
    MemoryReport memory;
    std::map<std::string, AxisTraffic> axes;  // this rank's; only axes that moved data
    std::string last_collective;
    std::map<int, HopRate> hops;  // into this rank, by its predecessor on an attention ring
    // Activations, gradients and state that went between host and device since the last report.
    std::int64_t h2d_bytes = 0;
    std::int64_t d2h_bytes = 0;
    // Rank 0's. After which step the next checkpoint is due: before `step` where it is late; 0: the
    // run makes none.
    std::int64_t checkpoint_due_step = 0;
    double checkpoint_seconds = 0;  // between steps, since the last report: saving and publishing
    double loading_seconds = 0;     // of the run's first report: reading a checkpoint or weights
    std::map<std::string, Fp8TensorReport> fp8;  // by the tensor's place in a layer, "mlp_hidden"
    std::int64_t fp8_fallback_layers = 0;        // in bf16, because FP8 does not hold them
    std::int64_t fp8_fallbacks = 0;              // so far in the run
};

// Whether the loss has left the range of a model that learns; also true for NaN.
inline bool has_diverged(const StepReport& report) {
    return report.diverged_above > 0 && !(report.loss <= report.diverged_above);
}

inline double seconds_in(const StepReport& report, const std::string& phase) {
    const auto found = report.phase_seconds.find(phase);
    return found == report.phase_seconds.end() ? 0 : found->second;
}

// Seconds of the step that compute spent waiting for other ranks: the sum of the exposed phases.
inline double waited_seconds(const StepReport& report) {
    double seconds = 0;
    for (const auto& [phase, spent] : report.phase_seconds)
        seconds += step_phase(phase).exposed ? spent : 0;
    return seconds;
}

// The held-out loss of targets predicted from this many tokens of their document up to the next
// entry's less one.
struct PositionLoss {
    std::int64_t from_tokens = 1;
    std::int64_t targets = 0;
    double loss = 0;  // nats per target
    bool operator==(const PositionLoss&) const = default;
};

struct EvaluationReport {
    std::int64_t step = 0;
    std::int64_t targets = 0;
    double loss = 0;             // held out, nats per target
    double unigram_entropy = 0;  // of the text, nats per byte; both 0 unless tokens are bytes
    double bigram_entropy = 0;
    std::vector<PositionLoss> by_position;  // ascending; those without targets are left out
};

// The texts of one kind that a suite made, and how the model did.
struct SuiteCell {
    std::string task;
    std::int64_t length = 0;  // tokens of the text, answer included, at most
    double depth = -1;        // of the needle, 0 (the beginning) to 1; -1: has none
    std::int64_t samples = 0;
    double score = 0;  // share of right answers
    double loss = 0;   // mean nats per token of an answer
    bool operator==(const SuiteCell&) const = default;
};

// The result of a suite (spec/evaluation/suite_spec.h).
struct SuiteReport {
    std::int64_t step = 0;
    std::string suite;                  // its kind
    std::string name;                   // in the job
    std::int64_t trained_context = 0;   // tokens; 0: not known
    std::int64_t effective_length = 0;  // of ruler; 0: none of its lengths
    double seconds = 0;                 // that it took
    std::vector<SuiteCell> cells;
    bool operator==(const SuiteReport&) const = default;
};

// Over the cells of a length.
struct SuiteMean {
    std::int64_t length = 0;
    std::int64_t cells = 0;
    double score = 0;
    double loss = 0;
};
std::vector<SuiteMean> suite_means(const SuiteReport& report);  // ascending

// Stands for both ends of a connection within a node.
constexpr std::string_view kSharedMemory = "shared memory";

// Both ends of a rank's connection to a peer, as the rank's socket names them, "10.77.0.3:40112".
struct PeerConnection {
    std::string own;
    std::string other;
    bool operator==(const PeerConnection&) const = default;
};

struct RingNeighbours {
    int sends_to = 0;  // ranks
    int receives_from = 0;
    bool operator==(const RingNeighbours&) const = default;
};

// A rank's connections once it has connected: as the transport opened them and as the
// communicator's groups define them, not as planned.
struct ConnectedReport {
    int rank = 0;
    std::string address;  // where it listens; empty: ranks are threads of one process
    std::map<int, PeerConnection> peers;  // by rank; none if ranks are threads of one process
    std::map<std::string, RingNeighbours> rings;  // ring, or ring_inner and ring_outer
    std::string network;  // "gloo", "nccl 2.28.3 on eth0"; empty: not reported
    bool operator==(const ConnectedReport&) const = default;
};

// Lines for people, in ring-train, in rank logs and on the command line.

// step 17/50  loss 2.8113  grad 0.94  412 ms  318k tok/s  MFU 46.1%  mem 41.2 GiB
//   waits 3.5% (ring 3.0%)
// on one line of at most 120 columns, without unknown parts. The share of the step in which compute
// waited for other ranks ends it, and the axis that it waited for most.
std::string step_line(const StepReport& report);
// The values that stay the same from step to step of a stage, a line each:
//   MFU counts causal attention; its peak is bf16 362 TFLOP/s
//   each rank uses 41.2 GiB; each step sends ring 3.1 GiB, tensor 1.2 GiB, gradient 512.0 MiB
std::vector<std::string> step_constants(const StepReport& report);
// rank 2 at 10.77.0.3 sends to rank 3 at 10.77.0.5 and receives from rank 1 at 10.77.0.4
// without a ring: rank 0 at 10.77.0.3 is connected to rank 1 at 10.77.0.5
// ends with ", over nccl 2.28.3 on eth0" where the network is reported
// a peer on the same node: rank 1 through shared memory
std::string connected_line(const ConnectedReport& report);
// The line for a report with has_diverged().
std::string diverged_line(const StepReport& r);
std::string evaluation_line(const EvaluationReport& report);
// niah at step 500: 100.0% right at 4096 tokens, 45.0% at 16384 tokens (on 40 texts, 12.0 s)
std::string suite_line(const SuiteReport& report);
// Stages count from 0 in the code and from 1 for people.
std::string stage_done_line(int stage, std::int64_t step);

}  // namespace rm
