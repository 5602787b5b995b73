#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/fault.h"
#include "base/result.h"
#include "engine/comm/exchange.h"
#include "engine/comm/network.h"
#include "engine/train/progress.h"
#include "engine/train/rank_config.h"
#include "kernels/kernels.h"
#include "spec/report.h"

// The engine's front door: one call runs one rank of one attempt to its end. ring-train calls it
// with threads or processes, the rank process of a worker calls it with the worker's exchange.
namespace rm {

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
    virtual void on_suite(const SuiteReport& report) = 0;
    virtual void on_checkpoint(std::int64_t step, const std::string& path, double seconds) = 0;
    virtual void on_stage_done(int stage, std::int64_t step) = 0;
    virtual void on_note(const std::string& text) = 0;
    // The run continues, but a user should look.
    virtual void on_alarm(const std::string& text) { on_note(text); }
};

// stopped: asked to, after a checkpoint at a step's end; or its export may not be published.
enum class RankOutcome { finished, stopped };

// Asked by rank 0 before an export takes its place: another attempt of the job may have begun
// meanwhile. Exports are written aside until then.
class PublishGuard {
public:
    virtual ~PublishGuard() = default;
    // FAILED_PRECONDITION: it must not. UNAVAILABLE or DEADLINE_EXCEEDED: no answer came within
    // `limit`; ask again.
    virtual Status may_publish(Seconds limit) = 0;
};

struct RankEnvironment {
    Kernels& kernels;
    Network& network;  // over all ranks of the mesh
    RankObserver& observer;
    ProgressPage& progress;
    const std::atomic<bool>& stop;  // set: checkpoint at the end of this step and return. Ranks
                                    // agree on it within the step, so one may be told alone
    Faults* faults = nullptr;
    PublishGuard* publish_guard = nullptr;  // null: exports need no permission
};

// Trains from the newest checkpoint that verifies, or from spec.checkpoint.from, or from
// spec.model.from, or from the seed, to the end of the last stage. Expected failures (no data, no
// room) are errors: RESOURCE_EXHAUSTED is memory, a full disk is UNAVAILABLE, since it may be less
// full later; ABORTED says that another rank has one. A lost peer or a broken op throws.
Result<RankOutcome> run_rank(const RankConfig& config, RankEnvironment environment);

}  // namespace rm
