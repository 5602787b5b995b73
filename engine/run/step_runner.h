#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/run/checkpoint_duty.h"
#include "engine/run/fp8_duty.h"
#include "engine/run/rank_parts.h"
#include "engine/run/run_state.h"
#include "engine/run/step_reporter.h"
#include "spec/report.h"

namespace rm {

// Takes a run's steps one by one and reports them. Collective.
class StepRunner {
public:
    // Borrows both.
    StepRunner(RankParts& parts, const CheckpointDuty& duty);

    void start(const StartPoint& point) { loading_seconds_ = point.loading_seconds; }
    // Makes the buffers of the next step's stage, unless they exist.
    Status enter_stage(const TrainPosition& position);
    // The next step's stage forgets the optimizer's moments: no checkpoint may be reading them.
    bool begins_anew(const TrainPosition& position) const;
    // The engine has been used for something else: the next step makes them again.
    void left_stage() { open_stage_ = -1; }

    // Trains on the next sequences and advances `state`. An error says why the run cannot
    // continue: the data cannot be read, max_skipped steps in a row were unusable, or FP8 does not
    // hold a tensor.
    Result<StepResult> step(RunState& state);

    // The last step's, of this run.
    const StepReport& last_report() const { return last_report_; }

private:
    const StageSpec& spec_of(const TrainPosition& position) const {
        return parts_.config.spec.stages[usize(position.stage)];
    }
    RopeConfig rope_of(const TrainPosition& position) const;
    Seconds timeout(const StageSpec& spec) const;
    double estimated_seconds(const StageSpec& spec) const;
    Result<StepInput> take_input(const TrainPosition& position);
    Result<StepResult> skip_without_target(const StepInput& input, RunState& state);
    OptimizerStep optimizer_step(const StepInput& input, const RunState& state) const;
    Trainer::Wish wish() const;
    void count(const StepInput& input, RunState& state);
    void report(const StepReporter::Done& step);
    void end_step(const StepInput& input, const TrainPosition& position);
    Status judge(const StepInput& input, const StepResult& result, RunState& state);

    RankParts& parts_;
    const CheckpointDuty& duty_;
    const Bytes checkpoint_bytes_;  // that this rank writes
    StepReporter reporter_;
    Fp8Duty fp8_;
    StepReport last_report_;
    int open_stage_ = -1;
    double slowest_step_ = 0;  // of the stage, seconds
    double last_seconds_ = 0;
    std::int64_t num_steps_ = 0;  // of this run
    double loading_seconds_ = 0;  // before the first step; 0 once that is reported
    double saving_before_ = 0;    // the duty's seconds when the last step was reported
};

}  // namespace rm
