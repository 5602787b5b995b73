#include "engine/run/step_runner.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "engine/json/json_members.h"
#include "engine/run/first_nonfinite.h"
#include "spec/rope/stage_rope.h"

namespace rm {
namespace {

// The steps of the stages before the one in which the optimizer of `stage` began.
std::int64_t steps_before_optimizer(const JobSpec& spec, int stage) {
    std::int64_t all = 0, before = 0;
    for (int i = 0; i <= stage; ++i) {
        const StageSpec& one = spec.stages[usize(i)];
        if (one.optimizer == StageOptimizer::anew) before = all;
        all += one.num_steps();
    }
    return before;
}

}  // namespace

StepRunner::StepRunner(RankParts& parts, const CheckpointDuty& duty)
    : parts_(parts),
      duty_(duty),
      checkpoint_bytes_(parts.checkpointer.own_bytes()),
      reporter_(parts),
      fp8_(parts) {}

Status StepRunner::enter_stage(const TrainPosition& position) {
    if (open_stage_ == position.stage) return {};
    const StageSpec& spec = spec_of(position);
    if (position.stage_step == 0) fp8_.begin_stage();
    const RopeConfig rope = rope_of(position);
    RM_RETURN_IF_ERROR(parts_.engine.enter({spec.context, parts_.config.plan.memory, rope}));
    if (begins_anew(position)) parts_.engine.state().zero_moments();
    if (position.stage_step == 0 && has_own_rope(spec))
        parts_.note(format("stage {}: rope {}", position.stage + 1, rope_text(rope)));
    parts_.env.network.set_timeout(timeout(spec));
    open_stage_ = position.stage;
    slowest_step_ = 0;
    parts_.env.progress.collectives.pulse.forget();
    return {};
}

RopeConfig StepRunner::rope_of(const TrainPosition& position) const {
    if (parts_.trained && !has_own_rope(spec_of(position))) return parts_.trained->model.rope;
    return stage_rope(parts_.model, parts_.config.spec, usize(position.stage));
}

bool StepRunner::begins_anew(const TrainPosition& position) const {
    return position.stage > 0 && position.stage_step == 0 && open_stage_ != position.stage &&
           position.stage < std::ssize(parts_.config.spec.stages) &&
           spec_of(position).optimizer == StageOptimizer::anew;
}

double StepRunner::estimated_seconds(const StageSpec& spec) const {
    const auto S = static_cast<double>(spec.context);
    const double pairs = static_cast<double>(spec.sequences_per_step()) * S * S;
    return parts_.estimated_seconds(static_cast<double>(spec.batch), pairs);
}

// How long a rank may wait for another within a step: the plan's limit, or three whole steps where
// these take longer. A checkpoint under way may hold a rank up for as long as its own part takes on
// a slow disk.
Seconds StepRunner::timeout(const StageSpec& spec) const {
    constexpr double kSteps = 3;
    const double step = slowest_step_ > 0 ? slowest_step_ : estimated_seconds(spec);
    Seconds timeout{std::max(parts_.config.plan.collective_timeout.value, kSteps * step)};
    if (parts_.checkpointer.writing()) timeout += time_on_disk(checkpoint_bytes_);
    return timeout;
}

Result<StepInput> StepRunner::take_input(const TrainPosition& position) {
    const StageSpec& spec = spec_of(position);
    const Stopwatch watch;
    RM_TRY(const std::vector<Sample> sequences,
           take_sequences(parts_.data->stream(), spec.sequences_per_step(), spec.context));
    StepInput input{.spec = spec,
                    .stage = position.stage,
                    .batch = parts_.engine.cut(sequences),
                    .learning_rate = learning_rate_at(spec, position.stage_step + 1)};
    input.data_seconds = watch.seconds();
    return input;
}

void StepRunner::count(const StepInput& input, RunState& state) {
    advance(state.position, parts_.config.spec, input.spec.batch);
    state.position.data = parts_.data->stream().position();
}

void StepRunner::end_step(const StepInput& input, const TrainPosition& position) {
    if (position.stage != input.stage && parts_.is_first())
        parts_.env.observer.on_stage_done(input.stage, position.step);
    parts_.env.progress.collectives.pulse.end_step();
}

// Counts as a step: the data advances.
Result<StepResult> StepRunner::skip_without_target(const StepInput& input, RunState& state) {
    count(input, state);
    const std::int64_t step = state.position.step;
    state.health.add_without_target(step);
    parts_.note(format(
        "step {} has no target and changes nothing: every document in it is one token", step));
    if (state.health.starved()) return state.health.starved_error();
    end_step(input, state.position);
    return StepResult{};
}

OptimizerStep StepRunner::optimizer_step(const StepInput& input, const RunState& state) const {
    const JobSpec& spec = parts_.config.spec;
    const Checkpointer& checkpointer = parts_.checkpointer;
    return {.spec = spec.optimizer,
            .seed = spec.seed,
            .learning_rate = input.learning_rate,
            .step = state.position.step + 1 - steps_before_optimizer(spec, input.stage),
            .state_in_use = checkpointer.writing() ? &checkpointer.written() : nullptr};
}

// Rank 0 decides when a checkpoint is due, so that all ranks save after the same
// step: the last whose end still lies within the interval.
Trainer::Wish StepRunner::wish() const {
    const std::int64_t most = parts_.config.stop_after_steps;
    const bool enough = most > 0 && num_steps_ >= most;
    if (parts_.env.stop || enough) return Trainer::Wish::stop;
    return parts_.is_first() && duty_.is_time(last_seconds_) ? Trainer::Wish::checkpoint
                                                             : Trainer::Wish::none;
}

void StepRunner::report(const StepReporter::Done& step) {
    last_report_ = reporter_.make(step);
    fp8_.add_to(last_report_);
    last_report_.checkpoint_due_step = duty_.due_step(step.position.step, last_seconds_);
    const double saving = duty_.seconds_spent();
    last_report_.checkpoint_seconds = saving - std::exchange(saving_before_, saving);
    last_report_.loading_seconds = std::exchange(loading_seconds_, 0);
    parts_.append_metrics(members_to_json(last_report_).dump());
    parts_.env.observer.on_step(last_report_);
}

// Decides after a step whether the run can continue.
Status StepRunner::judge(const StepInput& input, const StepResult& result, RunState& state) {
    StepHealth& health = state.health;
    health.add({state.position.step, input.learning_rate, result.loss, result.finite});
    const Status held = fp8_.end_step(state.position.step);
    const bool ends =
        parts_.config.spec.optimizer.divergence == Divergence::stop && has_diverged(last_report_);
    if (held && !health.hopeless() && !ends) return {};
    if (parts_.checkpointer.writing()) RM_RETURN_IF_ERROR(parts_.checkpointer.abandon());
    if (!held) return held;
    if (ends) return invalid_argument("optimizer.divergence: {}", diverged_line(last_report_));
    const std::string in_fp8 = fp8_.nonfinite_text();
    return health.hopeless_error(first_nonfinite(parts_.engine, input.batch) + in_fp8);
}

Result<StepResult> StepRunner::step(RunState& state) {
    ProgressPage& progress = parts_.env.progress;
    TrainPosition& position = state.position;
    parts_.env.network.set_timeout(timeout(spec_of(position)));
    progress.phase = Phase::data;
    progress.step = position.step + 1;
    progress.collectives.pulse.begin_step();
    const Stopwatch watch;
    RM_TRY(const StepInput input, take_input(position));
    ++num_steps_;
    parts_.faults.pass("trainer.step");
    if (input.batch.num_targets == 0) return skip_without_target(input, state);
    fp8_.begin_step(position.step + 1);
    const StepResult result =
        parts_.engine.trainer().step(input.batch, optimizer_step(input, state), wish());
    last_seconds_ = watch.seconds();
    slowest_step_ = std::max(slowest_step_, result.seconds + input.data_seconds);
    count(input, state);
    if (position.step == 1 && result.finite) position.first_loss = result.loss;
    report({result, input, position});
    RM_RETURN_IF_ERROR(judge(input, result, state));
    end_step(input, position);
    return result;
}

}  // namespace rm
