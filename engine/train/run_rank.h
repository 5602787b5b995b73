#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fault.h"
#include "base/ids.h"
#include "base/job_spec.h"
#include "base/model_preset.h"
#include "base/plan.h"
#include "base/report.h"
#include "base/result.h"
#include "engine/comm/exchange.h"
#include "engine/comm/transport.h"
#include "engine/train/progress.h"
#include "kernels/kernels.h"

// The engine's front door: one call runs one rank of one attempt to its end. ring-train calls it
// with threads or processes, the rank process of a worker calls it with the worker's exchange.
namespace rm {

// Everything that decides what one rank does. Written as JSON (engine/train/rank_config.h; format
// in docs/formats/ring_train.md) for rank processes.
struct RankConfig {
    JobSpec spec;
    std::optional<ModelConfig> model;  // instead of spec.model.preset: sizes given directly
    Plan plan;                         // mesh, memory, timeout; placement is not looked at
    Epoch epoch{1};
    int rank = 0;
    int num_threads = 1;         // of this rank's pool
    Bytes host_memory;           // its share of what ranks may use of the machine's; 0: no limit
    std::string run_dir;         // rank 0 writes metrics.jsonl here; empty: nowhere
    std::string checkpoint_dir;  // spec.checkpoint.dir or a directory of the cluster; empty: none
    double peak_flops = 0;       // one rank's share of the measured peak; 0: MFU is not reported
    std::string peak_name;       // "fp32 112 GFLOP/s measured"
    std::int64_t stop_after_steps =
        0;  // 0: never; else as if asked to stop after this many (tests)
};

// The type that the rank's kernels must compute in.
inline DType compute_type(const JobSpec& spec) {
    return spec.precision == "bf16" ? DType::bf16 : DType::f32;
}

// The type of AdamW's moments; nothing: as the sums.
inline std::optional<DType> moment_type(const JobSpec& spec) {
    if (spec.optimizer.moments == "bf16") return DType::bf16;
    return std::nullopt;
}

// Called on the rank's main thread. on_connected (where there are several ranks), on_started and
// on_step on every rank; the rest on rank 0; notes are for people ("checkpoint e1-s20 skipped:
// ...").
class RankObserver {
public:
    virtual ~RankObserver() = default;
    virtual void on_connected(const ConnectedReport& report) = 0;
    virtual void on_started(std::int64_t first_step, std::int64_t num_steps) = 0;
    virtual void on_step(const StepReport& report) = 0;
    virtual void on_evaluation(const EvaluationReport& report) = 0;
    virtual void on_checkpoint(std::int64_t step, const std::string& path, double seconds) = 0;
    virtual void on_stage_done(int stage, std::int64_t step) = 0;
    virtual void on_note(const std::string& text) = 0;
    // The run goes on, and somebody should look.
    virtual void on_alarm(const std::string& text) { on_note(text); }
};

// stopped: asked to, after a checkpoint at a step's end; or its export may not be published.
enum class Outcome { finished, stopped };

// Asked by rank 0 before an export takes its place: another attempt of the job may have begun
// meanwhile. Exports are written aside until then.
class PublishGuard {
public:
    virtual ~PublishGuard() = default;
    // FAILED_PRECONDITION: it must not. UNAVAILABLE or DEADLINE_EXCEEDED: nobody has answered
    // within `limit`; ask again.
    virtual Status may_publish(Seconds limit) = 0;
};

struct RankEnvironment {
    Kernels& kernels;
    Transport& transport;  // over all ranks of the mesh
    RankObserver& observer;
    ProgressPage& progress;
    const std::atomic<bool>& stop;  // set: checkpoint at the end of this step and return. Ranks
                                    // agree on it within the step, so one may be told alone
    Faults* faults = nullptr;
    PublishGuard* publish_guard = nullptr;  // null: exports need nobody's leave
};

// Trains from the newest checkpoint that verifies, or from spec.checkpoint.from, or from
// spec.model.from, or from the seed, to the end of the last stage. Expected failures (no data, no
// room) are errors: RESOURCE_EXHAUSTED is memory, a full disk is UNAVAILABLE, since it may be less
// full later; ABORTED says that another rank has one. A lost peer or a broken op throws.
Result<Outcome> run_rank(const RankConfig& config, RankEnvironment environment);

}  // namespace rm
