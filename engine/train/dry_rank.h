#pragma once

#include <memory>

#include "engine/train/rank_engine.h"
#include "engine/windows/step_memory.h"
#include "kernels/meta/meta_kernels.h"

namespace rm {

// Memory that a rank takes of its device, and of the host's pinned memory.
struct RankMemory {
    Bytes device, host;
};

// A rank that computes nothing: records the engine's own schedule on the meta device.
class DryRank {
public:
    // `spec.host` only says whether state lives on the host; `host_profile` how long its
    // update takes there, null: as long as on the device. Borrows what `options` names.
    DryRank(const RankSpec& spec, const MetaOptions& options,
            const DeviceProfile* host_profile = nullptr, KeptRanges ranges = KeptRanges::all);
    ~DryRank();

    // Errors of RankEngine::enter.
    Status enter(const StageShape& shape);
    // Records what each kind of pass requests, without places. The schedule has these, one after
    // the other, in place of steps.
    StageArenas record_passes();
    // A step of `micro_batches` on sequences of one document each.
    void step(std::int64_t micro_batches = 1);

    // Memory that the rank holds besides its arenas.
    RankMemory held() const;

    const StepSchedule& schedule() const { return recorder_.schedule(); }
    StepSchedule take_schedule() { return recorder_.take(); }
    // The requests of the latest pass of each kind; no places.
    const StageArenas& requests() const;
    Device& device() { return kernels_->device(); }
    RankEngine& engine() { return *engine_; }

private:
    class Passes;

    StepBatch batch(std::int64_t micro_batches) const;
    void record_decoding(const SequenceRuns& runs);

    ScheduleRecorder recorder_;
    std::unique_ptr<Kernels> kernels_;
    std::unique_ptr<Kernels> host_;
    std::unique_ptr<Transport> transport_;
    ProgressPage progress_{};
    std::unique_ptr<Passes> passes_;
    std::unique_ptr<RankEngine> engine_;
    std::int64_t num_steps_ = 0;
};

// Records the requests of a rank's passes; no places yet. Errors: those of enter.
Result<StageArenas> record_arenas(const RankSpec& spec, const StageShape& shape,
                                  const MetaOptions& options);

// Checks passes as record_passes() leaves them, with places: CheckError for two unordered accesses
// to the same bytes, and for two to which another plan would give the same bytes. Either is a fault
// of the engine, whatever spec and policy say, found before
// anything has run.
void check_races(const StepSchedule& schedule, const StageArenas& arenas);

// Checks, before anything is allocated, that the memory the rank holds in all stages stays within
// the limits of spec and policy. RESOURCE_EXHAUSTED: it does not.
Status check_state_fits(const RankSpec& spec, const MemoryPolicy& policy, Kernels& like);

// Plans a rank's requests and their places: every request of the real run has to be the planned
// one. Records a sample of a long context's chunks and checks its races, at these places and at any
// others that a plan might choose. Errors: those of enter; RESOURCE_EXHAUSTED: together with the
// rank's other memory the plan exceeds a limit of spec or policy.
Result<StageArenas> plan_arenas(const RankSpec& spec, const StageShape& shape, Kernels& like);

// Passes served from planned arenas: one allocation on the device, one pinned on the host.
class PlannedPasses final : public PassMemory {
public:
    PlannedPasses(Device& device, StageArenas plan);
    StepArena& device() override { return device_arena_; }
    StepArena& host() override { return host_arena_; }
    void begin(PassKind kind) override;
    void end() override;
    const StageArenas& plan() const { return plan_; }

private:
    StageArenas plan_;
    Buffer device_memory_;
    PinnedBuffer host_memory_;
    PlannedArena device_arena_;
    PlannedArena host_arena_;
};

}  // namespace rm
