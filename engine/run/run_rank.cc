#include "engine/run/run_rank.h"

#include <filesystem>

#include "engine/run/checkpoint_duty.h"
#include "engine/run/evaluate/evaluate.h"
#include "engine/run/evaluate/examination.h"
#include "engine/run/model_export.h"
#include "engine/run/rank_parts.h"
#include "engine/run/run_start.h"
#include "engine/run/run_state.h"
#include "engine/run/step_runner.h"
#include "engine/train/dry_rank.h"
#include "spec/report.h"

namespace rm {
namespace {

// One rank's whole run, from the first check to the export.
class RankRun {
public:
    RankRun(const RankConfig& config, const RankEnvironment& environment, const ModelConfig& model,
            std::unique_ptr<Kernels> host)
        : parts_(config, environment, model, std::move(host)), state_(config.spec) {}
    RankRun(const RankRun&) = delete;
    RankRun& operator=(const RankRun&) = delete;

    Result<RankOutcome> run();

private:
    void report_connected() const;
    Status start();
    Status evaluate_only();
    Status step();
    Status save_and_evaluate(const StepResult& result);
    Status examine();
    Status finish();
    Status check_trained() const;

    RankParts parts_;
    RunState state_;
    CheckpointDuty duty_{parts_};
    StepRunner steps_{parts_, duty_};
    Examination examination_{parts_};
};

void RankRun::report_connected() const {
    const Network& network = parts_.env.network;
    if (network.num_ranks() == 1) return;
    parts_.env.observer.on_connected(
        connected_report(network, parts_.engine.streams().communicator));
}

Status RankRun::start() {
    RM_RETURN_IF_ERROR(check_before_start(parts_));
    parts_.study.begin(parts_);
    RM_TRY(const StartPoint point, load_start(parts_));
    RM_RETURN_IF_ERROR(examination_.start());
    state_.position = point.position;
    duty_.start(point);
    steps_.start(point);
    parts_.env.observer.on_started(point.position.step + 1, state_.num_steps);
    return {};
}

Status RankRun::evaluate_only() {
    if (parts_.config.spec.evaluation.tokens == 0) return {};  // suites or prompts alone
    RM_RETURN_IF_ERROR(steps_.enter_stage(state_.position));
    RM_RETURN_IF_ERROR(evaluate(parts_, state_));
    if (state_.is_evaluated()) return {};
    return invalid_argument("nothing was evaluated: the data has no sample of {} tokens",
                            parts_.config.spec.stages[0].context);
}

Status RankRun::step() {
    if (steps_.begins_anew(state_.position)) RM_RETURN_IF_ERROR(duty_.finish(state_));
    RM_RETURN_IF_ERROR(steps_.enter_stage(state_.position));
    RM_TRY(const StepResult result, steps_.step(state_));
    state_.stopping = result.stop && !state_.finished();
    return save_and_evaluate(result);
}

// The checkpoint of the step before is published first: it was written during this step.
Status RankRun::save_and_evaluate(const StepResult& result) {
    const JobSpec& spec = parts_.config.spec;
    RM_RETURN_IF_ERROR(duty_.finish(state_));
    if (state_.finished() || state_.due(spec.evaluation.every_steps))
        RM_RETURN_IF_ERROR(evaluate(parts_, state_));
    const bool wanted =
        result.checkpoint || duty_.owed() || state_.due(spec.checkpoint.every_steps);
    if (state_.is_last_chance() || wanted) RM_RETURN_IF_ERROR(duty_.begin(state_));
    return state_.is_last_chance() ? Status() : examine();
}

Status RankRun::examine() {
    RM_TRY(const bool left_stage, examination_.examine(state_));
    if (left_stage) steps_.left_stage();
    return {};
}

// Only a complete model can be exported.
Status RankRun::check_trained() const {
    if (state_.weights_are_good()) return {};
    const std::string_view what =
        state_.is_evaluated() ? "its held-out loss is not finite" : "its gradient is not finite";
    return invalid_argument(
        "the model after step {} is broken: {}. It is neither saved nor exported{}; lower the "
        "learning rate or warm up longer",
        state_.position.step, what,
        parts_.checkpointer.enabled() ? "; earlier checkpoints are left as they are" : "");
}

Status RankRun::finish() {
    parts_.engine.weights().finish_update();
    RM_RETURN_IF_ERROR(duty_.finish(state_));
    const StepReport& last = steps_.last_report();
    if (has_diverged(last)) parts_.note(diverged_line(last));
    if (state_.stopping) return {};
    RM_RETURN_IF_ERROR(check_trained());
    // Exports even if this run had no step left: an earlier attempt's export may have failed.
    RM_TRY(const bool published, export_model(parts_));
    state_.stopping = !published;
    return published ? examine() : Status();
}

Result<RankOutcome> RankRun::run() {
    ProgressPage& progress = parts_.env.progress;
    progress.version = ProgressPage::kVersion;
    progress.phase = Phase::starting;
    report_connected();
    RM_RETURN_IF_ERROR(start());
    if (parts_.only_evaluates()) RM_RETURN_IF_ERROR(evaluate_only());
    while (!state_.is_last_chance())
        RM_RETURN_IF_ERROR(step());
    RM_RETURN_IF_ERROR(finish());
    progress.phase = Phase::done;
    return state_.stopping ? RankOutcome::stopped : RankOutcome::finished;
}

// Checks, before any data is read, that model, mesh and contexts fit each other.
Status check_lengths(const RankConfig& config, const ModelConfig& model) {
    RM_RETURN_IF_ERROR(check_mesh(config.plan.mesh, model.dims()));
    RM_RETURN_IF_ERROR(check_fp8(config.spec, model, config.plan.mesh.size(Axis::tensor)));
    for (const StageSpec& stage : config.spec.stages) {
        RM_TRY([[maybe_unused]] const std::int64_t padded,
               padded_length(stage.context, config.plan.mesh));
    }
    return {};
}

}  // namespace

Result<RankOutcome> run_rank(const RankConfig& config, RankEnvironment environment) {
    RM_RETURN_IF_ERROR(validate(config.spec));
    RM_TRY(const ModelConfig model, resolve_model(config.spec, config.model));
    RM_RETURN_IF_ERROR(check_lengths(config, model));
    if (config.rank == 0 && !config.run_dir.empty())
        std::filesystem::create_directories(config.run_dir);
    std::unique_ptr<Kernels> host = make_host_kernels(config);
    RM_RETURN_IF_ERROR(check_state_fits(rank_spec_of(config, model, host.get()), config.plan.memory,
                                        environment.kernels));
    return RankRun(config, environment, model, std::move(host)).run();
}

}  // namespace rm
