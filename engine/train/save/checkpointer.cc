#include "engine/train/save/checkpointer.h"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/durable_file.h"

namespace rm {
namespace {

// Describes a piece of a parameter's part as a slice of the whole tensor.
Slice slice_of(const WeightState& state, const StatePiece& piece, const char* suffix,
               const TensorView& view) {
    const Parameter& p = state.parameter(piece.parameter);
    Slice slice = whole_tensor(p.name + suffix, view.dtype(), p.shape);
    if (p.cut != Cut::none) {
        slice.split_dim = p.cut == Cut::rows ? 0 : 1;
        slice.split_count = state.share().tensor;
        slice.split_index = state.share().tensor_index;
    }
    slice.first = piece.first;
    slice.count = piece.count;
    return slice;
}

struct StateSlice {
    Slice slice;
    TensorView view;
};

// Master weights under their own names, the moments beside them.
std::vector<StateSlice> state_slices(const WeightState& state,
                                     const std::vector<StatePiece>& pieces) {
    std::vector<StateSlice> slices;
    for (const StatePiece& piece : pieces) {
        const auto add = [&](const char* suffix, const TensorView& view) {
            slices.push_back({slice_of(state, piece, suffix, view), view});
        };
        add("", piece.weight);
        if (piece.moment1.empty()) continue;
        add(".adam_m", piece.moment1);
        add(".adam_v", piece.moment2);
    }
    return slices;
}

// Every note ends with the checkpoint that is used instead.
void add_notes(std::vector<std::string> unfinished, const CheckpointName& used,
               Checkpointer::Restored& restored) {
    for (std::string& note : unfinished)
        restored.notes.push_back(std::move(note));
    for (std::string& note : restored.notes)
        note += format("; using {}", used);
}

}  // namespace

Checkpointer::Checkpointer(Options options, const RankStreams& streams, Meeting& meeting,
                           WeightState& state, Faults& faults)
    : options_(std::move(options)),
      streams_(streams),
      meeting_(meeting),
      state_(state),
      faults_(faults),
      known_{.epoch = options_.epoch, .good = {}},
      written_(streams.kernels.device().make_event()),
      blocks_(state.device()),
      writer_(streams.kernels.device().make_host_stream("checkpoint")) {}

std::vector<SliceData> Checkpointer::my_slices() {
    std::vector<SliceData> slices;
    for (const StateSlice& mine : state_slices(state_, state_.owned())) {
        slices.push_back({mine.slice, {}, [this, part = mine.view](const ByteSink& sink) {
                              return blocks_.read(
                                  part, [&](std::int64_t /*first*/, const TensorView& block) {
                                      return sink(block.bytes());
                                  });
                          }});
    }
    return slices;
}

Bytes Checkpointer::own_bytes() {
    Bytes bytes;
    for (const SliceData& mine : my_slices())
        bytes.value += num_bytes(mine.slice);
    return bytes;
}

Status Checkpointer::begin(const TrainPosition& position, nlohmann::json state) {
    RM_CHECK(!writing(), "a checkpoint is begun while {} is being written", writing_->name);
    const CheckpointName name{options_.epoch, position.step};
    const Status begun = meeting_.rank_0_does("checkpoint: making its directory", [&](Activity&) {
        return status_of(begin_checkpoint(options_.dir, name, faults_));
    });
    if (!begun) return discard(name, begun.error());
    writing_.emplace(Writing{name, std::move(state), my_slices(), {}, 0});
    writer_->enqueue("write_checkpoint", [this] { write(*writing_, options_, faults_); });
    writer_->record(*written_);
    return {};
}

void Checkpointer::write(Writing& writing, const Options& options, Faults& faults) {
    const Stopwatch watch;
    const auto shard =
        write_shard(temporary_path(options.dir, writing.name), options.rank, options.num_ranks,
                    writing.slices, faults, writing.activity.get());
    if (!shard) writing.status = shard.error();
    writing.seconds = watch.seconds();
}

// Rethrows the writer's exception unchanged.
void Checkpointer::wait_for_writer() {
    try {
        writer_->synchronize();
    } catch (const StreamError& error) {
        if (error.cause()) std::rethrow_exception(error.cause());
        throw;
    }
}

// Returns the error message or an empty string: files left over are no reason to stop.
std::string Checkpointer::prune(Activity& activity) {
    const auto pruned = prune_checkpoints(options_.dir, known_, options_.keep, faults_, activity);
    return pruned ? "" : pruned.error().message;
}

Status Checkpointer::publish(Writing& writing, const Complete& complete, Saved& saved,
                             Activity& activity) {
    RM_RETURN_IF_ERROR(complete(writing.state, activity));
    RM_TRY(saved.path, publish_checkpoint(options_.dir, writing.name, options_.num_ranks,
                                          writing.state, faults_));
    known_.good = writing.name;
    saved.trouble = prune(activity);
    return {};
}

Status Checkpointer::remove(std::string_view what, const CheckpointName& name) {
    return meeting_.rank_0_does(
        what, [&](Activity&) { return remove_tree(temporary_path(options_.dir, name), faults_); });
}

// Frees the space of a failed checkpoint, as the disk may be full.
Error Checkpointer::discard(const CheckpointName& name, Error why) {
    const Status gone = remove("removing it", name);
    if (!gone) why.message += "; " + gone.error().message;
    return why;
}

Result<Checkpointer::Saved> Checkpointer::finish(const Complete& complete) {
    RM_CHECK(writing(), "no checkpoint is being written");
    const auto all_written = [this](Activity&) {
        wait_for_writer();
        return writing_->status;
    };
    Status status =
        meeting_.together("checkpoint: writing shards", *writing_->activity, all_written);
    Writing done = *std::exchange(writing_, std::nullopt);
    Saved saved{done.name.step, "", done.seconds, ""};
    if (status) {
        status = meeting_.rank_0_does("checkpoint: publishing", [&](Activity& activity) {
            return publish(done, complete, saved, activity);
        });
    }
    if (!status) return discard(done.name, status.error());
    return saved;
}

Status Checkpointer::abandon() {
    RM_CHECK(writing(), "no checkpoint is being written");
    const Status written =
        meeting_.together("checkpoint: giving one up", *writing_->activity, [this](Activity&) {
            wait_for_writer();
            return Status();
        });
    const Writing done = *std::exchange(writing_, std::nullopt);
    RM_RETURN_IF_ERROR(written);
    return remove("checkpoint: removing one", done.name);
}

Status Checkpointer::load(const Checkpoint& checkpoint, Restored& restored, Activity& activity) {
    CheckpointReader reader(checkpoint, {.activity = &activity, .faults = &faults_});
    for (const StateSlice& held : state_slices(state_, state_.held())) {
        RM_RETURN_IF_ERROR(
            blocks_.write(held.view, [&](std::int64_t first, const TensorView& block) {
                Slice slice = held.slice;
                slice.first += first;
                slice.count = block.num_elements();
                return reader.read(slice, block.bytes());
            }));
    }
    bytes_read_ = reader.bytes_read();
    restored.path = checkpoint.path();
    restored.state = checkpoint.state();
    return {};
}

// Newest first; empty on all but rank 0.
Result<DirectoryListing> Checkpointer::list(const std::string& dir) {
    DirectoryListing listing;
    RM_RETURN_IF_ERROR(meeting_.rank_0_does("checkpoint: looking for the newest", [&](Activity&) {
        auto found = list_checkpoints(dir);
        if (found) listing = std::move(*found);
        const bool none = !found && found.error().code == ErrorCode::not_found;
        return found || none ? Status() : Status(found.error());
    }));
    return listing;
}

// The name at `index` in rank 0's listing; nothing past its end.
std::optional<CheckpointName> Checkpointer::agreed_name(const DirectoryListing& listing,
                                                        std::size_t index) {
    std::array<double, 2> numbers = {-1, -1};
    if (index < listing.checkpoints.size()) {
        const CheckpointName& name = listing.checkpoints[index];
        numbers = {static_cast<double>(name.epoch.value), static_cast<double>(name.step)};
    }
    const auto [epoch, step] = meeting_.as_rank_0_says(numbers);
    if (epoch < 0) return std::nullopt;
    return CheckpointName{{static_cast<std::int64_t>(epoch)}, static_cast<std::int64_t>(step)};
}

// Each rank reads and verifies what it needs, all at the same time.
Meeting::Verdict Checkpointer::try_load(const std::string& dir, const CheckpointName& name,
                                        Restored& restored) {
    return meeting_.work_and_agree("checkpoint: reading", [&](Activity& activity) -> Status {
        auto verified = verify_named(dir, name, Verify::sizes);
        if (!verified) {
            return make_error(ErrorCode::data_loss, "{}", verified.error().message);
        }
        const Checkpoint checkpoint(format("{}/{}", dir, name), std::move(*verified));
        return load(checkpoint, restored, activity);
    });
}

void Checkpointer::count_bytes(Restored& restored, const Stopwatch& watch) {
    restored.bytes_read = meeting_.gather(bytes_read_);
    restored.seconds = watch.seconds();
}

Result<Checkpointer::Found> Checkpointer::load_newest(const std::string& dir) {
    RM_TRY(const DirectoryListing listing, list(dir));
    Found found;
    std::vector<std::string>& notes = found.restored.notes;
    for (std::size_t i = 0; const auto name = agreed_name(listing, i); ++i) {
        found.name = *name;
        const Meeting::Verdict verdict = try_load(dir, found.name, found.restored);
        if (!verdict.status && !verdict.damaged) return verdict.status.error();
        if (!verdict.status) {
            found.bad.insert(found.name);
            notes.push_back(format("checkpoint {} skipped: {}", found.name, verdict.words));
            continue;
        }
        add_notes(unfinished_notes(listing, found.name), found.name, found.restored);
        return found;
    }
    if (notes.empty()) return make_error(ErrorCode::not_found, "no checkpoint in {}", dir);
    return none_is_whole(dir, notes);
}

Result<Checkpointer::Restored> Checkpointer::restore() {
    if (!enabled()) return make_error(ErrorCode::not_found, "no checkpoint directory");
    const Stopwatch watch;
    RM_TRY(Found found, load_newest(options_.dir));
    known_.good = found.name;
    known_.bad = std::move(found.bad);
    count_bytes(found.restored, watch);
    tidy(found.restored);
    return std::move(found.restored);
}

// Removes half-written checkpoints of earlier attempts, and those beyond the `keep` newest.
void Checkpointer::tidy(Restored& restored) {
    const auto remove = [&](Activity& activity) {
        const Status gone = remove_leftovers(options_.dir, options_.epoch, faults_);
        if (!gone) restored.troubles.push_back(gone.error().message);
        const std::string trouble = prune(activity);
        if (!trouble.empty()) restored.troubles.push_back(trouble);
        return Status();
    };
    const Status tidied = meeting_.rank_0_does("checkpoint: removing old ones", remove);
    if (!tidied) restored.troubles.push_back(tidied.error().message);
}

Result<Checkpointer::Restored> Checkpointer::load_one(const std::string& path) {
    Restored restored;
    RM_RETURN_IF_ERROR(meeting_.together("checkpoint: reading", [&](Activity& activity) -> Status {
        RM_TRY(const Checkpoint checkpoint, Checkpoint::open(path, Verify::sizes));
        return load(checkpoint, restored, activity);
    }));
    return restored;
}

Result<Checkpointer::Restored> Checkpointer::restore_from(const std::string& path) {
    const Stopwatch watch;
    const auto read = [&]() -> Result<Restored> {
        if (meeting_.as_rank_0_says(is_checkpoint(path))) return load_one(path);
        RM_TRY(Found found, load_newest(path));
        return std::move(found.restored);
    };
    auto restored = read();
    if (!restored) {
        const auto& [code, message, fact] = restored.error();
        const bool none = fact == ErrorFact::no_whole_checkpoint;
        return Error{code, format("checkpoint.from {}: {}", path, message),
                     none ? ErrorFact::no_whole_beginning : fact};
    }
    count_bytes(*restored, watch);
    return restored;
}

}  // namespace rm
