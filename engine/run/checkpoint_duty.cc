#include "engine/run/checkpoint_duty.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rm {

void CheckpointDuty::start(const StartPoint& point) {
    saved_step_ = published_step_ = point.published_step;
    base_step_ = point.position.step;
    since_saved_ = since_base_ = {};
}

std::int64_t CheckpointDuty::due_step(std::int64_t now, double last_step_seconds) const {
    if (!parts_.checkpointer.enabled()) return 0;
    const JobSpec& spec = parts_.config.spec;
    const std::int64_t every = spec.checkpoint.every_steps;
    const double interval = spec.checkpoint.every.value;
    std::int64_t due = spec.num_steps();
    if (every > 0) due = (base_step_ / every + 1) * every;
    if (every <= 0 && interval > 0 && last_step_seconds > 0) {
        const double left = (interval - since_base_.seconds()) / last_step_seconds;
        due = now + static_cast<std::int64_t>(std::floor(std::min(left, 1e12)));
    }
    return std::clamp<std::int64_t>(due, 1, spec.num_steps());
}

bool CheckpointDuty::is_time(double last_step_seconds) const {
    const CheckpointSpec& checkpoint = parts_.config.spec.checkpoint;
    if (checkpoint.every_steps > 0 || checkpoint.every.value == 0) return false;
    return since_saved_.seconds() + 2 * last_step_seconds > checkpoint.every.value;
}

// Raises an alarm; the next due checkpoint tries again. If none is due any more, the run fails: a
// retry of the attempt is better than steps that no checkpoint holds.
Status CheckpointDuty::not_written(std::int64_t step, const Error& why, const RunState& state) {
    saved_step_ = published_step_;
    if (state.is_last_chance() && step == state.position.step) return why;
    if (parts_.is_first()) {
        parts_.env.observer.on_alarm(format(
            "no checkpoint of step {}: {}; training goes on, the newest is {}", step, why.message,
            published_step_ < 0 ? "none" : format("of step {}", published_step_)));
    }
    return {};
}

Status CheckpointDuty::begin(const RunState& state) {
    const Stopwatch watch;
    Status begun = save(state);
    seconds_spent_ += watch.seconds();
    return begun;
}

namespace {

Fp8Memory fp8_memory(Weights& weights) {
    if (!weights.precision().fp8) return {};
    return {weights.fp8().history().steps(), weights.fp8().fallback().stays()};
}

}  // namespace

Status CheckpointDuty::save(const RunState& state) {
    const TrainPosition& position = state.position;
    if (!parts_.checkpointer.enabled() || saved_step_ == position.step) return {};
    // A checkpoint of weights that may be broken would push out a good one.
    owed_ = !state.weights_are_good();
    if (owed_) return {};
    parts_.env.progress.phase = Phase::checkpoint;
    parts_.engine.weights().finish_update();
    nlohmann::json saved;
    // finish() adds the data's hash before publication.
    if (parts_.is_first()) {
        saved = checkpoint_state(position, parts_.config.spec, parts_.model, "",
                                 fp8_memory(parts_.engine.weights()));
    }
    since_saved_ = {};  // also when it fails: the next is due an interval later
    const Status begun = parts_.checkpointer.begin(position, std::move(saved));
    if (!begun) return not_written(position.step, begun.error(), state);
    saved_step_ = position.step;
    return {};
}

Status CheckpointDuty::give_up() {
    owed_ = true;
    saved_step_ = published_step_;
    return parts_.checkpointer.abandon();
}

Status CheckpointDuty::finish(const RunState& state) {
    const Stopwatch watch;
    Status finished = publish(state);
    seconds_spent_ += watch.seconds();
    return finished;
}

Status CheckpointDuty::publish(const RunState& state) {
    Checkpointer& checkpointer = parts_.checkpointer;
    if (!checkpointer.writing()) return {};
    parts_.env.progress.phase = Phase::checkpoint;
    // The first step with the saved weights shows whether they are finite.
    if (!state.weights_are_good()) return give_up();
    const auto saved =
        checkpointer.finish([this](nlohmann::json& written, Activity& activity) -> Status {
            RM_TRY(written["data_hash"], parts_.study.content_hash(activity));
            return {};
        });
    if (!saved) return not_written(saved_step_, saved.error(), state);
    published_step_ = base_step_ = saved->step;
    since_base_ = since_saved_;
    if (!parts_.is_first()) return {};
    parts_.env.observer.on_checkpoint(saved->step, saved->path, saved->seconds);
    if (!saved->trouble.empty()) parts_.env.observer.on_alarm(saved->trouble);
    return {};
}

}  // namespace rm
