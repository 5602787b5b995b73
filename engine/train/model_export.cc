#include "engine/train/model_export.h"

#include <algorithm>

#include "base/clock.h"

namespace rm {
namespace {

// How long rank 0 asks at a time whether it may publish: well within a collective's timeout.
constexpr Seconds kAskInterval{2};

}  // namespace

RopeConfig rope_of(const ModelConfig& model, const StageSpec& stage) {
    RopeConfig rope = model.rope;
    if (stage.rope_theta > 0) rope.theta = stage.rope_theta;
    return rope;
}

ModelExport::ModelExport(const RankConfig& config, const ModelConfig& model,
                         RankEnvironment& environment, RankEngine& engine, Meeting& meeting,
                         const Checkpointer& checkpointer, Faults& faults)
    : config_(config),
      model_(model),
      env_(environment),
      engine_(engine),
      meeting_(meeting),
      checkpointer_(checkpointer),
      faults_(faults) {}

StorageType ModelExport::type() const {
    return config_.spec.precision == "bf16" ? StorageType::bf16 : StorageType::f32;
}

HfExport ModelExport::options(const std::string& path) const {
    HfExport options{.path = path, .source = config_.spec.model.from};
    options.tokenizer = config_.spec.data.tokenizer;
    options.dtype = type();
    options.epoch = config_.epoch;
    for (const StageSpec& stage : config_.spec.stages)
        options.context = std::max(options.context, stage.context);
    return options;
}

// The others are told whose words they are; the rank that failed says so itself.
Status ModelExport::everyone(const Status& mine) {
    constexpr std::string_view kKey = "export.huggingface";
    const Status all = meeting_.everyone(mine, kKey);
    if (all || mine) return all;
    return make_error(all.error().code, "{}: {}", kKey, all.error().message);
}

Status ModelExport::try_place() {
    const std::string& path = config_.spec.exports.huggingface;
    if (path.empty()) return {};
    const Status tried = is_first() ? try_hf_place(options(path), faults_) : Status();
    return everyone(tried);
}

Result<bool> ModelExport::run() {
    const std::string& path = config_.spec.exports.huggingface;
    if (path.empty()) return true;
    env_.progress.phase = Phase::exporting;
    Result<bool> done = write_to(path);
    if (done) return done;
    // A second attempt would find the same weights, and they are not worth a second place.
    if (done.error().code == ErrorCode::out_of_range) {
        done = invalid_argument("{}", done.error().message);
    }
    const bool lost = !checkpointer_.enabled() && done.error().code != ErrorCode::invalid_argument;
    if (!meeting_.as_rank_0_says(lost)) return done;
    return rescue(done.error());
}

Error ModelExport::rescue(const Error& failed) {
    std::string beside = config_.spec.exports.huggingface;
    while (beside.size() > 1 && beside.ends_with('/'))
        beside.pop_back();
    beside += ".rescued";
    const Result<bool> rescued = write_to(beside);
    if (!rescued) {
        return make_error(failed.code, "{}; nor could it be written to {}: {}", failed.message,
                          beside, rescued.error().message);
    }
    return make_error(failed.code, "{}; the trained model is in {}", failed.message, beside);
}

// Written by rank 0 from what all ranks hold.
Result<bool> ModelExport::write_to(const std::string& path) {
    // While rank 0 writes or syncs a file the others wait for its next block.
    env_.transport.set_timeout(config_.plan.collective_timeout +
                               time_on_disk(HfExport().max_shard));
    const Stopwatch watch;
    WholeWeights whole(&engine_.streams(), engine_.state());
    Result<StagedExport> staged = StagedExport{};
    if (is_first()) {
        ModelConfig trained = model_;
        trained.rope = rope_of(model_, config_.spec.stages.back());
        staged = stage_hf(options(path), trained, whole, faults_);
    }
    whole.finish();
    RM_RETURN_IF_ERROR(everyone(status_of(staged)));
    const Status may = ask_to_publish();
    const bool refused = !may && (may.error().code == ErrorCode::failed_precondition ||
                                  may.error().code == ErrorCode::cancelled);
    if (meeting_.as_rank_0_says(refused)) {
        if (!is_first()) return false;
        env_.observer.on_note(format("not exported to {}: {}", path, may.error().message));
        const Status gone = discard_hf(*staged, faults_);
        if (!gone) env_.observer.on_note(gone.error().message);
        return false;
    }
    Status published = may;
    if (is_first() && may) published = publish_hf(*staged, config_.epoch, faults_);
    RM_RETURN_IF_ERROR(everyone(published));
    if (is_first()) {
        env_.observer.on_note(
            format("exported to {} as {} in {:.1} s", path, to_string(type()), watch.seconds()));
    }
    return true;
}

// Rank 0 asks for as long as nobody answers. The others hear from it meanwhile, so that no
// collective's timeout ends what only waits.
Status ModelExport::ask_to_publish() {
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
        if (!meeting_.as_rank_0_says(again)) return answer;
    }
}

}  // namespace rm
