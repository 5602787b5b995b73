#include "engine/run/model_export.h"

#include "base/clock.h"
#include "engine/model/whole_weights.h"
#include "engine/train/save/trained_model.h"

namespace rm {
namespace {

// How long rank 0 asks at a time whether it may publish: well within a collective's timeout.
constexpr Seconds kAskInterval{2};

class ModelExport {
public:
    explicit ModelExport(RankParts& parts)
        : parts_(parts),
          spec_(parts.config.spec),
          trained_(trained_model(spec_, parts.model,
                                 {.stage = static_cast<int>(spec_.stages.size())})) {}

    Status try_place();
    Result<bool> run();

private:
    HfExport options(const std::string& path) const;
    Result<bool> write_to(const std::string& path);
    Status everyone(const Status& mine);
    Error rescue(const Error& failed);
    Status ask_to_publish();

    RankParts& parts_;
    const JobSpec& spec_;
    const TrainedModel trained_;
};

// The model as the last stage leaves it.
HfExport ModelExport::options(const std::string& path) const {
    HfExport options = export_of(trained_, path);
    options.epoch = parts_.config.epoch;
    return options;
}

// Other ranks name the rank that failed; that rank reports its own error.
Status ModelExport::everyone(const Status& mine) {
    constexpr std::string_view kKey = "export.huggingface";
    const Status all = parts_.meeting.everyone(mine, kKey);
    if (all || mine) return all;
    return within(kKey, all.error());
}

Status ModelExport::try_place() {
    const std::string& path = spec_.exports.huggingface;
    if (path.empty()) return {};
    const Status tried = parts_.is_first() ? try_hf_place(options(path), parts_.faults) : Status();
    return everyone(tried);
}

Result<bool> ModelExport::run() {
    const std::string& path = spec_.exports.huggingface;
    if (path.empty()) return true;
    parts_.env.progress.phase = Phase::exporting;
    Result<bool> done = write_to(path);
    if (done) return done;
    // A second attempt would find the same unusable weights, so none is made.
    if (done.error().code == ErrorCode::out_of_range) {
        done = invalid_argument("{}", done.error().message);
    }
    const bool lost =
        !parts_.checkpointer.enabled() && done.error().code != ErrorCode::invalid_argument;
    if (!parts_.meeting.as_rank_0_says(lost)) return done;
    return rescue(done.error());
}

Error ModelExport::rescue(const Error& failed) {
    std::string beside = spec_.exports.huggingface;
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

// Rank 0 writes the parts of all ranks.
Result<bool> ModelExport::write_to(const std::string& path) {
    // While rank 0 writes or syncs a file the others wait for its next block.
    parts_.env.network.set_timeout(parts_.config.plan.collective_timeout +
                                   time_on_disk(HfExport().max_shard));
    const Stopwatch watch;
    WholeWeights whole(&parts_.engine.streams(), parts_.engine.state());
    Result<StagedExport> staged = StagedExport{};
    if (parts_.is_first()) {
        staged = stage_hf(options(path), trained_.model, whole, parts_.faults);
    }
    whole.finish();
    RM_RETURN_IF_ERROR(everyone(status_of(staged)));
    const Status may = ask_to_publish();
    const bool refused = !may && (may.error().code == ErrorCode::failed_precondition ||
                                  may.error().code == ErrorCode::cancelled);
    if (parts_.meeting.as_rank_0_says(refused)) {
        if (!parts_.is_first()) return false;
        parts_.note(format("not exported to {}: {}", path, may.error().message));
        const Status gone = discard_hf(*staged, parts_.faults);
        if (!gone) parts_.note(gone.error().message);
        return false;
    }
    Status published = may;
    if (parts_.is_first() && may)
        published = publish_hf(*staged, parts_.config.epoch, parts_.faults);
    RM_RETURN_IF_ERROR(everyone(published));
    parts_.note(format("exported to {} as {} in {:.1} s", path, to_string(options(path).dtype),
                       watch.seconds()));
    return true;
}

// Rank 0 asks until it gets an answer. Meanwhile it exchanges messages with the others, so that no
// collective times out.
Status ModelExport::ask_to_publish() {
    while (true) {
        Status answer;
        if (parts_.is_first() && parts_.env.publish_guard != nullptr) {
            answer = parts_.env.publish_guard->may_publish(kAskInterval);
        }
        bool again = !answer && (answer.error().code == ErrorCode::unavailable ||
                                 answer.error().code == ErrorCode::deadline_exceeded);
        if (again && parts_.env.stop) {
            again = false;
            answer = make_error(ErrorCode::cancelled, "asked to stop before it was allowed");
        }
        if (!parts_.meeting.as_rank_0_says(again)) return answer;
    }
}

}  // namespace

Status try_export_place(RankParts& parts) {
    return ModelExport(parts).try_place();
}

Result<bool> export_model(RankParts& parts) {
    return ModelExport(parts).run();
}

}  // namespace rm
