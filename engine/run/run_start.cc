#include "engine/run/run_start.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "base/words.h"
#include "engine/hf/directory.h"
#include "engine/run/model_export.h"
#include "engine/train/save/trained_model.h"

namespace rm {
namespace {

// Looks for foreign tokens on rank 0 only: the others open the same data.
Status open_data(RankParts& parts, const ReadWatch& watch) {
    const JobSpec& spec = parts.config.spec;
    DataSpec data = spec.data;
    if (parts.only_evaluates()) data.holdout = 0;  // all of it is held out
    RM_TRY(parts.data, TrainingData::open(data, spec.seed, parts.model.vocabulary, watch));
    if (parts.only_evaluates()) RM_RETURN_IF_ERROR(parts.data->hold_out_all());
    for (const StageSpec& stage : spec.stages)
        RM_RETURN_IF_ERROR(parts.data->stream().check_enough(stage.context));
    return parts.is_first() ? parts.data->check_ids(watch) : Status();
}

Status take_data(RankParts& parts) {
    if (!parts.config.spec.reads_data()) return {};
    const auto open = [&](Activity& activity) {
        return open_data(parts, {&activity, &parts.faults, "data.slow_open"});
    };
    RM_RETURN_IF_ERROR(parts.meeting.together("data.path", open));
    for (const std::string& line : parts.data->describe())
        parts.note(line);
    return {};
}

Status lock_directory(RankParts& parts) {
    if (!parts.is_first() || !parts.checkpointer.enabled()) return {};
    RM_TRY(parts.directory, DirectoryLock::take(parts.config.checkpoint_dir, parts.config.epoch));
    return {};
}

// "4 ranks read and verified 1.2 GiB, 1.2 GiB, 1.3 GiB, 1.2 GiB in 3.1 s"
std::string read_note(const Checkpointer::Restored& restored) {
    constexpr std::size_t kMostNamed = 8;
    std::vector<Bytes> bytes;
    for (const std::int64_t of_rank : restored.bytes_read)
        bytes.push_back({of_rank});
    const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
    const std::string each =
        bytes.size() > kMostNamed ? format("{} to {} each", *least, *most) : join(bytes);
    return format("{} read and verified {} in {}", counted(bytes.size(), "rank"), each,
                  Seconds{restored.seconds});
}

void tell_resumed(const RankParts& parts, const Checkpointer::Restored& restored,
                  std::int64_t step) {
    if (!parts.is_first()) return;
    RankObserver& observer = parts.env.observer;
    for (const std::string& note : restored.notes)
        observer.on_alarm(note);
    for (const std::string& trouble : restored.troubles)
        observer.on_alarm(trouble);
    observer.on_note(format("resumed from {} at step {}", restored.path, step));
    observer.on_note(read_note(restored));
}

Status check_stages(const JobSpec& spec, const TrainPosition& position) {
    const auto num_stages = std::ssize(spec.stages);
    if (position.stage < num_stages || position.step >= spec.num_steps()) return {};
    return invalid_argument(
        "the checkpoint is after stage {}, the job has {} and steps left: stages may be added, the "
        "tokens of one that is done must not change",
        position.stage, num_stages);
}

Result<TrainPosition> resume(RankParts& parts, const Checkpointer::Restored& restored) {
    const JobSpec& spec = parts.config.spec;
    RM_TRY(const ResumePoint point, read_checkpoint_state(restored.state, spec, parts.model));
    RM_RETURN_IF_ERROR(parts.data->stream().seek(point.position.data));
    parts.engine.weights().fp8().history().restore(point.fp8.history);
    parts.engine.weights().fp8().fallback().restore(point.fp8.bf16);
    RM_RETURN_IF_ERROR(check_stages(spec, point.position));
    const auto compare = [&](Activity& activity) -> Status {
        RM_TRY(const std::string hash, parts.study.content_hash(activity));
        return parts.data->check_same(hash, point.data_hash);
    };
    RM_RETURN_IF_ERROR(parts.meeting.rank_0_does("resume: comparing the data", compare));
    tell_resumed(parts, restored, point.position.step);
    return point.position;
}

// Resumes from a checkpoint of another job or another directory.
Result<StartPoint> start_from_checkpoint(RankParts& parts) {
    const std::string& path = parts.config.spec.checkpoint.from;
    RM_TRY(const Checkpointer::Restored restored, parts.checkpointer.restore_from(path));
    const Result<TrainPosition> resumed = resume(parts, restored);
    if (!resumed) return within("checkpoint.from " + path, resumed.error());
    return StartPoint{.position = *resumed};
}

// The weights alone, and the rotary embedding that they were trained with.
Result<StartPoint> evaluate_checkpoint(RankParts& parts) {
    const std::string& path = parts.config.spec.checkpoint.from;
    RM_TRY(const Checkpointer::Restored restored, parts.checkpointer.restore_from(path));
    auto trained = trained_model_of(restored.state);
    if (!trained) return within("checkpoint.from " + path, trained.error());
    parts.trained = std::move(*trained);
    parts.note(format("evaluates {}", restored.path));
    if (parts.is_first()) parts.env.observer.on_note(read_note(restored));
    return StartPoint{};
}

Result<StartPoint> start_from_weights(RankParts& parts) {
    const std::string& from = parts.config.spec.model.from;
    const Stopwatch watch;
    const auto load = [&](Activity& activity) -> Status {
        RM_TRY(const HfDirectory directory, HfDirectory::open(from));
        return load_hf_weights(directory, parts.engine.state(), &activity);
    };
    RM_RETURN_IF_ERROR(parts.meeting.together("model.from: reading the weights", load));
    parts.note(format("started from {}: {} parameters read in {:.1} s", from,
                      parts.model.num_parameters(), watch.seconds()));
    return StartPoint{};
}

// A dead link shows here, with its name, before data is read. NCCL also makes its connections now,
// not in the first step.
void meet_in_every_group(const RankStreams& streams) {
    for (const GroupKey key : kGroupKeys) {
        if (streams.communicator.group(key).size() > 1) streams.communicator.barrier(key);
    }
    streams.communication.synchronize();
}

Result<StartPoint> find_start(RankParts& parts) {
    const JobSpec& spec = parts.config.spec;
    if (parts.only_evaluates() && !spec.checkpoint.from.empty()) return evaluate_checkpoint(parts);
    const auto restored = parts.checkpointer.restore();
    if (restored) {
        RM_TRY(const TrainPosition position, resume(parts, *restored));
        return StartPoint{.position = position, .published_step = position.step};
    }
    if (restored.error().code != ErrorCode::not_found) return restored.error();
    if (!spec.checkpoint.from.empty()) return start_from_checkpoint(parts);
    if (!spec.model.from.empty()) return start_from_weights(parts);
    parts.engine.state().initialize(spec.seed);
    return StartPoint{};
}

}  // namespace

Status check_before_start(RankParts& parts) {
    meet_in_every_group(parts.engine.streams());
    RM_RETURN_IF_ERROR(take_data(parts));
    RM_RETURN_IF_ERROR(parts.meeting.everyone(lock_directory(parts), "checkpoint.dir"));
    return try_export_place(parts);
}

Result<StartPoint> load_start(RankParts& parts) {
    parts.env.progress.phase = Phase::loading;
    const Stopwatch watch;
    RM_TRY(StartPoint point, find_start(parts));
    const bool is_read = point.position.step > 0 || !parts.config.spec.model.from.empty();
    if (is_read) point.loading_seconds = watch.seconds();
    return point;
}

}  // namespace rm
