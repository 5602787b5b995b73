#include "engine/train/run_rank.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "engine/data/training_data.h"
#include "engine/hf/export.h"
#include "engine/hf/load.h"
#include "engine/train/checkpointer.h"
#include "engine/train/connected.h"
#include "engine/train/rank_engine.h"
#include "engine/train/report_json.h"
#include "engine/train/resolve_model.h"
#include "engine/train/schedule.h"
#include "engine/train/train_position.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm {
namespace {

double seconds_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// What updates state that lives on the host; null where it is on the device.
std::unique_ptr<Kernels> make_host_kernels(const RankConfig& config) {
    if (config.spec.optimizer.place == OptimizerPlace::device) return nullptr;
    return make_cpu_kernels(
        {.num_threads = config.num_threads, .compute = compute_type(config.spec)});
}

// How long rank 0 asks at a time whether it may publish: well within a collective's timeout.
constexpr Seconds kAskInterval{2};

template <typename T>
Status status_of(const Result<T>& result) {
    return result ? Status() : Status(result.error());
}

// The axis that a collective's counter belongs to: "ring_inner ring_shift" to ring.
std::string axis_of(const std::string& collective) {
    const std::string group = collective.substr(0, collective.find(' '));
    return group.starts_with("ring") ? "ring" : group;
}

// One rank's whole run. Members are in order of construction: what is below borrows from above.
class RankRun {
public:
    RankRun(const RankConfig& config, const RankEnvironment& environment, const ModelConfig& model,
            TrainingData data)
        : config_(config),
          env_(environment),
          model_(model),
          data_(std::move(data)),
          host_(make_host_kernels(config)),
          engine_(env_.kernels, env_.transport, env_.progress,
                  {model_, config.plan.mesh, config.rank, config.plan.zero,
                   moment_type(config.spec), config.spec.data.positions, host_.get()}),
          faults_(env_.faults != nullptr ? *env_.faults : no_faults_),
          checkpointer_({config.checkpoint_dir, config.epoch, config.rank,
                         config.plan.mesh.num_ranks(), config.spec.checkpoint.keep},
                        engine_.streams(), engine_.state(), faults_) {}
    RankRun(const RankRun&) = delete;
    RankRun& operator=(const RankRun&) = delete;

    Result<Outcome> run();

private:
    bool is_first() const { return config_.rank == 0; }
    const StageSpec& stage_spec() const {
        return config_.spec.stages[static_cast<std::size_t>(position_.stage)];
    }
    bool finished() const { return position_.step >= config_.spec.num_steps(); }

    Status check_data();
    Status start_or_resume();
    Status resume(const Checkpointer::Restored& restored);
    Status start_from_checkpoint();
    Status start_from_directory();
    Result<bool> export_model();
    Status ask_to_publish();
    StorageType export_type() const;
    Result<StagedExport> stage_export(const std::string& path, WholeWeights& whole);
    RopeConfig rope_of(const StageSpec& stage) const;
    Status enter_stage();
    Result<StepResult> train_step();
    void report(const StepResult& result, const StepBatch& batch, const StageSpec& spec, int stage,
                double data_seconds);
    std::map<std::string, AxisTraffic> traffic(const StepResult& result);
    std::map<int, HopRate> hops();
    MemoryReport memory() const;
    Status begin_checkpoint();
    Status finish_checkpoint();
    Status evaluate();
    bool due(std::int64_t every) const { return every > 0 && position_.step % every == 0; }
    void append_metrics(const std::string& line);

    const RankConfig& config_;
    RankEnvironment env_;
    const ModelConfig model_;
    TrainingData data_;
    const std::unique_ptr<Kernels> host_;  // null: state lives on the device
    RankEngine engine_;
    const std::set<int> sources_ = ring_sources(engine_.streams().communicator);
    Faults no_faults_;
    Faults& faults_;
    Checkpointer checkpointer_;
    TrainPosition position_;
    int open_stage_ = -1;
    std::int64_t saved_step_ = -1;
    std::int64_t evaluated_step_ = -1;
    std::int64_t steps_this_run_ = 0;
    std::map<std::string, std::int64_t> sent_before_;  // by axis
};

Status RankRun::check_data() {
    for (const StageSpec& stage : config_.spec.stages) {
        RM_RETURN_IF_ERROR(data_.stream().check_enough(stage.context));
    }
    return {};
}

Status RankRun::start_or_resume() {
    auto restored = checkpointer_.restore();
    if (restored) return resume(*restored);
    if (restored.error().code != ErrorCode::not_found) return restored.error();
    if (!config_.spec.checkpoint.from.empty()) return start_from_checkpoint();
    if (config_.spec.model.from.empty()) {
        engine_.state().initialize(config_.spec.seed);
        return {};
    }
    return checkpointer_.everyone(start_from_directory(), "model.from: reading the weights");
}

// Goes on where another job, or another attempt's directory, was.
Status RankRun::start_from_checkpoint() {
    const std::string& path = config_.spec.checkpoint.from;
    RM_TRY(const Checkpointer::Restored restored, checkpointer_.restore_from(path));
    const Status resumed = resume(restored);
    if (!resumed) {
        return make_error(resumed.error().code, "checkpoint.from {}: {}", path,
                          resumed.error().message);
    }
    saved_step_ = -1;  // this job's own directory has none
    return {};
}

Status RankRun::start_from_directory() {
    const double begin = seconds_now();
    RM_TRY(const HfDirectory directory, HfDirectory::open(config_.spec.model.from));
    RM_RETURN_IF_ERROR(load_hf_weights(directory, engine_.state()));
    if (is_first()) {
        env_.observer.on_note(format("started from {}: {} parameters read in {:.1} s",
                                     directory.path(), model_.num_parameters(),
                                     seconds_now() - begin));
    }
    return {};
}

// The trained model as a directory, written by rank 0 from what all ranks hold. False: it may not
// take its place.
Result<bool> RankRun::export_model() {
    const std::string& path = config_.spec.exports.huggingface;
    if (path.empty()) return true;
    env_.progress.phase = Phase::checkpoint;
    const double begin = seconds_now();
    WholeWeights whole(&engine_.streams(), engine_.state());
    Result<StagedExport> staged = StagedExport{};
    if (is_first()) staged = stage_export(path, whole);
    whole.finish();
    RM_RETURN_IF_ERROR(checkpointer_.everyone(status_of(staged), "export.huggingface"));
    const Status may = ask_to_publish();
    const bool refused = !may && (may.error().code == ErrorCode::failed_precondition ||
                                  may.error().code == ErrorCode::cancelled);
    if (checkpointer_.as_rank_0_says(refused)) {
        if (!is_first()) return false;
        env_.observer.on_note(format("not exported to {}: {}", path, may.error().message));
        const Status gone = discard_hf(*staged, faults_);
        if (!gone) env_.observer.on_note(gone.error().message);
        return false;
    }
    Status published = may;
    if (is_first() && may) published = publish_hf(*staged, config_.epoch, faults_);
    RM_RETURN_IF_ERROR(checkpointer_.everyone(published, "export.huggingface"));
    if (is_first()) {
        env_.observer.on_note(format("exported to {} as {} in {:.1} s", path,
                                     to_string(export_type()), seconds_now() - begin));
    }
    return true;
}

// Rank 0 asks for as long as nobody answers. The others hear from it meanwhile, so that no
// collective's timeout ends what only waits.
Status RankRun::ask_to_publish() {
    while (true) {
        Status answer;
        if (is_first() && env_.publish_guard != nullptr) {
            answer = env_.publish_guard->may_publish(kAskInterval);
        }
        bool again = !answer && (answer.error().code == ErrorCode::unavailable ||
                                 answer.error().code == ErrorCode::deadline_exceeded);
        if (again && env_.stop) {
            again = false;
            answer = make_error(ErrorCode::cancelled, "asked to stop before it was allowed");
        }
        if (!checkpointer_.as_rank_0_says(again)) return answer;
    }
}

StorageType RankRun::export_type() const {
    return config_.spec.precision == "bf16" ? StorageType::bf16 : StorageType::f32;
}

Result<StagedExport> RankRun::stage_export(const std::string& path, WholeWeights& whole) {
    HfExport options{.path = path, .source = config_.spec.model.from};
    options.tokenizer = config_.spec.data.tokenizer;
    options.dtype = export_type();
    options.epoch = config_.epoch;
    for (const StageSpec& stage : config_.spec.stages)
        options.context = std::max(options.context, stage.context);
    ModelConfig trained = model_;
    trained.rope = rope_of(config_.spec.stages.back());
    return stage_hf(options, trained, whole, faults_);
}

RopeConfig RankRun::rope_of(const StageSpec& stage) const {
    RopeConfig rope = model_.rope;
    if (stage.rope_theta > 0) rope.theta = stage.rope_theta;
    return rope;
}

Status RankRun::resume(const Checkpointer::Restored& restored) {
    RM_TRY(const ResumePoint point, read_checkpoint_state(restored.state, config_.spec, model_));
    RM_RETURN_IF_ERROR(data_.stream().seek(point.position.data));
    position_ = point.position;
    saved_step_ = position_.step;
    Status same_data;
    if (is_first()) same_data = data_.check_same(point.data_hash);
    RM_RETURN_IF_ERROR(checkpointer_.everyone(same_data, "resume: comparing the data"));
    if (!is_first()) return {};
    for (const std::string& note : restored.notes)
        env_.observer.on_note(note);
    env_.observer.on_note(format("resumed from {} at step {}", restored.path, position_.step));
    return {};
}

Status RankRun::enter_stage() {
    if (open_stage_ == position_.stage) return {};
    RM_RETURN_IF_ERROR(
        engine_.enter({stage_spec().context, config_.plan.memory, rope_of(stage_spec())}));
    open_stage_ = position_.stage;
    env_.progress.collectives.pulse.forget();
    return {};
}

MemoryReport RankRun::memory() const {
    MemoryReport report;
    for (std::size_t i = 0; i < kNumMemoryKinds; ++i) {
        const auto kind = static_cast<MemoryKind>(i);
        const std::string name(to_string(kind));
        report.add(name, env_.kernels.device().allocated(kind));
        const Bytes on_host = engine_.state().host_bytes(kind);
        if (on_host.value > 0) report.add("host " + name, on_host);
    }
    const Bytes kept_on_host = engine_.arenas().host.size;
    if (kept_on_host.value > 0) report.add("host activations", kept_on_host);
    return report;
}

void RankRun::append_metrics(const std::string& line) {
    if (!is_first() || config_.run_dir.empty()) return;
    std::ofstream out(config_.run_dir + "/metrics.jsonl", std::ios::app);
    out << line << '\n';
    if (!out.flush())
        env_.observer.on_note(format("cannot write {}/metrics.jsonl", config_.run_dir));
}

// What moved since the last call, by axis.
std::map<std::string, AxisTraffic> RankRun::traffic(const StepResult& result) {
    std::map<std::string, std::int64_t> sent;
    for (const auto& [collective, bytes] : engine_.streams().communicator.counters().bytes_sent)
        sent[axis_of(collective)] += bytes;
    std::map<std::string, AxisTraffic> axes;
    for (const auto& [axis, bytes] : sent) {
        const std::int64_t moved = bytes - sent_before_[axis];
        const auto wait = result.wait_seconds.find(axis);
        if (moved == 0) continue;
        axes[axis] = {moved, wait == result.wait_seconds.end() ? 0 : wait->second};
    }
    sent_before_ = sent;
    return axes;
}

// Since the last call, of the rings of attention.
std::map<int, HopRate> RankRun::hops() {
    std::map<int, HopRate> arrived = env_.transport.take_arrivals();
    std::erase_if(arrived, [this](const auto& peer) { return !sources_.contains(peer.first); });
    return arrived;
}

void RankRun::report(const StepResult& result, const StepBatch& batch, const StageSpec& spec,
                     int stage, double data_seconds) {
    StepReport report;
    report.step = position_.step;
    report.num_steps = config_.spec.num_steps();
    report.stage = stage;
    report.tokens = spec.batch;
    report.tokens_total = position_.tokens_total;
    report.loss = result.loss;
    report.grad_norm = result.grad_norm;
    report.finite = result.finite;
    report.learning_rate =
        learning_rate_at(spec, position_.stage == stage ? position_.stage_step : spec.num_steps());
    report.seconds = result.seconds + data_seconds;
    const auto tokens = static_cast<double>(spec.batch);
    const auto S = static_cast<double>(spec.context);
    const auto sequences = static_cast<double>(spec.sequences_per_step());
    const auto pairs = static_cast<double>(batch.attended_pairs);
    report.model_flops = training_flops(model_, tokens, pairs);
    const double peak = config_.peak_flops * config_.plan.mesh.num_ranks();
    report.peak_name = config_.peak_name;
    if (peak > 0) {
        report.causal_mfu = report.model_flops / report.seconds / peak;
        report.full_mfu = training_flops(model_, tokens, sequences * S * S) / report.seconds / peak;
        report.hfu = hardware_flops(model_, tokens, pairs) / report.seconds / peak;
    }
    report.phase_seconds = result.phase_seconds;
    report.phase_seconds["data"] = data_seconds;
    double busy = 0;
    for (const auto& [phase, seconds] : report.phase_seconds)
        busy += seconds;
    report.phase_seconds["idle"] = std::max(0.0, report.seconds - busy);
    report.memory = memory();
    report.axes = traffic(result);
    report.hops = hops();
    report.last_collective = comm_name(env_.progress.collectives.last);
    append_metrics(to_json(report));
    env_.observer.on_step(report);
}

Result<StepResult> RankRun::train_step() {
    const StageSpec spec = stage_spec();
    const int stage = position_.stage;
    env_.progress.phase = Phase::data;
    env_.progress.step = position_.step + 1;
    env_.progress.collectives.pulse.begin_step();
    const double begin = seconds_now();
    RM_TRY(const std::vector<Sample> sequences,
           take_sequences(data_.stream(), spec.sequences_per_step(), spec.context));
    const StepBatch batch = engine_.cut(sequences);
    const double data_seconds = seconds_now() - begin;
    ++steps_this_run_;
    faults_.pass("trainer.step");
    const bool stop = env_.stop || steps_this_run_ == config_.stop_after_steps;
    const OptimizerStep optimizer{
        config_.spec.optimizer, config_.spec.seed, learning_rate_at(spec, position_.stage_step + 1),
        position_.step + 1, checkpointer_.writing() ? &checkpointer_.written() : nullptr};
    const StepResult result = engine_.trainer().step(
        batch, optimizer, stop ? Trainer::StopRequest::yes : Trainer::StopRequest::no);
    advance(position_, config_.spec, spec.batch);
    position_.data = data_.stream().position();
    report(result, batch, spec, stage, data_seconds);
    if (position_.stage != stage && is_first()) env_.observer.on_stage_done(stage, position_.step);
    env_.progress.collectives.pulse.end_step();
    return result;
}

Status RankRun::begin_checkpoint() {
    if (!checkpointer_.enabled() || saved_step_ == position_.step) return {};
    env_.progress.phase = Phase::checkpoint;
    engine_.weights().finish_update();
    nlohmann::json state;
    if (is_first()) {
        RM_TRY(const std::string hash, data_.content_hash());
        state = checkpoint_state(position_, config_.spec, model_, hash);
    }
    RM_RETURN_IF_ERROR(checkpointer_.begin(position_, std::move(state)));
    saved_step_ = position_.step;
    return {};
}

Status RankRun::finish_checkpoint() {
    if (!checkpointer_.writing()) return {};
    env_.progress.phase = Phase::checkpoint;
    RM_TRY(const Checkpointer::Saved saved, checkpointer_.finish());
    if (is_first()) env_.observer.on_checkpoint(saved.step, saved.path, saved.seconds);
    return {};
}

// The held-out loss at the stage's context; sequence n goes to data rank n mod data as in training.
Status RankRun::evaluate() {
    if (config_.spec.evaluation.tokens == 0 || evaluated_step_ == position_.step) return {};
    evaluated_step_ = position_.step;
    env_.progress.phase = Phase::evaluation;
    const auto samples =
        data_.evaluation_samples(engine_.layout().context, config_.spec.evaluation.tokens);
    if (samples && samples->empty()) return {};
    if (!samples && samples.error().code != ErrorCode::invalid_argument) return samples.error();
    if (!samples) {
        if (is_first()) env_.observer.on_note(format("no evaluation: {}", samples.error().message));
        return {};
    }
    const StepBatch batch = engine_.cut(*samples);
    const double total = engine_.trainer().total_loss(batch);
    if (!is_first()) return {};
    RM_TRY(const std::optional<TextEntropies> text, data_.entropies());
    EvaluationReport report;
    report.step = position_.step;
    report.targets = batch.num_targets;
    report.loss = total / static_cast<double>(batch.num_targets);
    if (text) {
        report.unigram_entropy = text->unigram;
        report.bigram_entropy = text->bigram;
    }
    append_metrics(to_json(report));
    env_.observer.on_evaluation(report);
    return {};
}

Result<Outcome> RankRun::run() {
    env_.progress.version = ProgressPage::kVersion;
    env_.progress.phase = Phase::starting;
    if (env_.transport.num_ranks() > 1) {
        env_.observer.on_connected(
            connected_report(env_.transport, engine_.streams().communicator));
    }
    RM_RETURN_IF_ERROR(check_data());
    RM_RETURN_IF_ERROR(start_or_resume());
    env_.observer.on_started(position_.step + 1, config_.spec.num_steps());
    bool stopped = false;
    while (!finished() && !stopped) {
        RM_RETURN_IF_ERROR(enter_stage());
        RM_TRY(const StepResult result, train_step());
        RM_RETURN_IF_ERROR(finish_checkpoint());
        stopped = result.stop && !finished();
        if (finished() || due(config_.spec.evaluation.every_steps)) RM_RETURN_IF_ERROR(evaluate());
        if (finished() || stopped || due(config_.spec.checkpoint.every_steps)) {
            RM_RETURN_IF_ERROR(begin_checkpoint());
        }
    }
    engine_.weights().finish_update();
    RM_RETURN_IF_ERROR(finish_checkpoint());
    // Also when a checkpoint says that all was trained: the export may be what failed then.
    if (!stopped) {
        RM_TRY(const bool published, export_model());
        stopped = !published;
    }
    env_.progress.phase = Phase::done;
    return stopped ? Outcome::stopped : Outcome::finished;
}

}  // namespace

Result<Outcome> run_rank(const RankConfig& config, RankEnvironment environment) {
    RM_RETURN_IF_ERROR(validate(config.spec));
    RM_TRY(const ModelConfig model, resolve_model(config.spec, config.model));
    RM_RETURN_IF_ERROR(check_mesh(config.plan.mesh, model.dims()));
    for (const StageSpec& stage : config.spec.stages) {
        RM_TRY([[maybe_unused]] const std::int64_t padded,
               padded_length(stage.context, config.plan.mesh));
    }
    RM_TRY(TrainingData data,
           TrainingData::open(config.spec.data, config.spec.seed, model.vocabulary));
    if (config.rank == 0) {
        for (const std::string& line : data.describe())
            environment.observer.on_note(line);
    }
    if (config.rank == 0 && !config.run_dir.empty()) {
        std::filesystem::create_directories(config.run_dir);
    }
    return RankRun(config, environment, model, std::move(data)).run();
}

}  // namespace rm
