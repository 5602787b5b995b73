#pragma once

#include <cstdint>

#include "engine/run/step_health.h"
#include "engine/train/batch.h"
#include "engine/train/save/train_position.h"
#include "spec/job_spec.h"

// The data that the parts of a rank's run pass to each other.
namespace rm {

// Where a run begins.
struct StartPoint {
    TrainPosition position;
    // Step of the newest checkpoint in the job's own directory; -1: it has none.
    std::int64_t published_step = -1;
    double loading_seconds = 0;  // reading a checkpoint or weights; 0: the seed has made them
};

// One step before it is computed: the same on every rank but for the rank's own tokens.
struct StepInput {
    StageSpec spec;
    int stage = 0;
    StepBatch batch;
    double learning_rate = 0;
    double data_seconds = 0;  // reading and cutting the sequences
};

// The newest evaluation of held-out text.
struct Evaluated {
    std::int64_t step = -1;  // after which it was made; -1: none yet
    bool finite = true;      // its loss is
};

// How far a run has come and what it knows of its weights. The same on every rank.
struct RunState {
    explicit RunState(const JobSpec& spec)
        : num_steps(spec.num_steps()), health(spec.optimizer.max_skipped) {}

    bool finished() const { return position.step >= num_steps; }
    bool is_last_chance() const { return finished() || stopping; }
    bool is_evaluated() const { return evaluated.step == position.step; }
    // As of the last step with these weights, or a later evaluation.
    bool weights_are_good() const { return is_evaluated() ? evaluated.finite : health.good(); }
    // After a step whose number is a multiple of `every`; 0: never.
    bool due(std::int64_t every) const { return every > 0 && position.step % every == 0; }

    std::int64_t num_steps;
    TrainPosition position;
    StepHealth health;
    Evaluated evaluated;
    bool stopping = false;  // asked to, or not allowed to publish
};

}  // namespace rm
