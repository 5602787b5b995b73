#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "engine/run/data_study.h"
#include "engine/run/rank_parts.h"
#include "engine/run/run_state.h"

namespace rm {

// Decides when a run saves, which states it must not save, and how it handles a failed checkpoint.
// Collective: every rank makes the same calls after the same steps.
class CheckpointDuty {
public:
    explicit CheckpointDuty(RankParts& parts) : parts_(parts) {}  // borrowed

    // Before the first step.
    void start(const StartPoint& point);

    // By this rank's clock: the next step but one would end after the interval, when this and the
    // next take as long as the last did. False where steps are counted instead.
    bool is_time(double last_step_seconds) const;
    // Whether a checkpoint was due while steps were not finite.
    bool owed() const { return owed_; }
    // After which step the next checkpoint is due, seen from the end of step `now`, when steps take
    // as long as the last did: earlier than `now` if it is late. 0: this run makes none.
    std::int64_t due_step(std::int64_t now, double last_step_seconds) const;
    // Seconds spent in begin() and finish() since the run began.
    double seconds_spent() const { return seconds_spent_; }

    // Begins to save the state, unless it has been saved or may be broken.
    Status begin(const RunState& state);
    // After the next step's optimizer, or at the end: publishes the checkpoint begun, or abandons
    // it if its weights have turned out to be broken.
    Status finish(const RunState& state);

private:
    Status save(const RunState& state);
    Status publish(const RunState& state);
    Status not_written(std::int64_t step, const Error& why, const RunState& state);
    Status give_up();

    RankParts& parts_;
    std::int64_t saved_step_ = -1;
    std::int64_t published_step_ = -1;
    std::int64_t base_step_ = 0;  // of the newest checkpoint, or the start
    Stopwatch since_saved_;       // since the newest checkpoint's state was taken, or the start
    Stopwatch since_base_;        // since the state of the newest that is published was taken
    double seconds_spent_ = 0;
    bool owed_ = false;
};

}  // namespace rm
