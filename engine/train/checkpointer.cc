#include "engine/train/checkpointer.h"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <utility>

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/directory.h"

namespace rm {
namespace {

double seconds_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// What a piece of a parameter's part is of the whole tensor.
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
        add(".adam_m", piece.moment1);
        add(".adam_v", piece.moment2);
    }
    return slices;
}

}  // namespace

Checkpointer::Checkpointer(Options options, const RankStreams& streams, WeightState& state,
                           Faults& faults)
    : options_(std::move(options)),
      streams_(streams),
      state_(state),
      faults_(faults),
      agreed_(streams.kernels.device(), MemoryKind::communication, DType::f64, {2}),
      written_(streams.kernels.device().make_event()),
      blocks_(state.device()),
      writer_(streams.kernels.device().make_host_stream("checkpoint")) {}

Status Checkpointer::everyone(const Status& mine, std::string_view what) {
    Device& device = streams_.kernels.device();
    std::array<double, 2> values = {mine ? 0.0 : 1.0, 0};
    device.write(values.data(), agreed_);
    streams_.communicator.all_reduce_sum(GroupKey::world, agreed_);
    streams_.communication.synchronize();
    device.read(agreed_, values.data());
    if (values[0] == 0) return {};
    if (!mine) return mine;
    return make_error(ErrorCode::aborted, "{}: {} of {} ranks failed", what, values[0],
                      options_.num_ranks);
}

void Checkpointer::broadcast_from_0(std::span<double> values) {
    RM_CHECK(values.size() == 2, "{} values", values.size());
    Device& device = streams_.kernels.device();
    device.write(values.data(), agreed_);
    streams_.communicator.broadcast(GroupKey::world, agreed_, 0);
    streams_.communication.synchronize();
    device.read(agreed_, values.data());
}

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

Status Checkpointer::begin(const TrainPosition& position, nlohmann::json state) {
    RM_CHECK(!writing(), "a checkpoint is begun while {} is being written", writing_->name);
    const CheckpointName name{options_.epoch, position.step};
    Status status;
    if (options_.rank == 0) {
        const auto begun = begin_checkpoint(options_.dir, name, faults_);
        if (!begun) status = begun.error();
    }
    RM_RETURN_IF_ERROR(everyone(status, "checkpoint: making its directory"));
    writing_.emplace(Writing{name, std::move(state), my_slices(), {}, 0});
    writer_->enqueue("write_checkpoint", [this] { write(*writing_, options_, faults_); });
    writer_->record(*written_);
    return {};
}

void Checkpointer::write(Writing& writing, const Options& options, Faults& faults) {
    const double begin = seconds_now();
    const auto shard = write_shard(temporary_path(options.dir, writing.name), options.rank,
                                   options.num_ranks, writing.slices, faults);
    if (!shard) writing.status = shard.error();
    writing.seconds = seconds_now() - begin;
}

// What the writer threw is thrown here as it was.
void Checkpointer::wait_for_writer() {
    try {
        writer_->synchronize();
    } catch (const StreamError& error) {
        if (error.cause()) std::rethrow_exception(error.cause());
        throw;
    }
}

Status Checkpointer::publish(const Writing& writing, std::string& path) {
    RM_TRY(path, publish_checkpoint(options_.dir, writing.name, options_.num_ranks, writing.state,
                                    faults_));
    const auto pruned = prune_checkpoints(options_.dir, options_.epoch, options_.keep, faults_);
    return pruned ? Status() : Status(pruned.error());
}

Result<Checkpointer::Saved> Checkpointer::finish() {
    RM_CHECK(writing(), "no checkpoint is being written");
    wait_for_writer();
    const Writing done = *std::exchange(writing_, std::nullopt);
    RM_RETURN_IF_ERROR(everyone(done.status, "checkpoint: writing shards"));
    Saved saved{done.name.step, "", done.seconds};
    const Status status = options_.rank == 0 ? publish(done, saved.path) : Status();
    RM_RETURN_IF_ERROR(everyone(status, "checkpoint: publishing"));
    return saved;
}

Status Checkpointer::load(const std::string& path, Restored& restored) {
    // Rank 0 has verified every hash; the others check sizes and the tensors' table.
    RM_TRY(const Checkpoint checkpoint,
           Checkpoint::open(path, options_.rank == 0 ? Verify::hashes : Verify::sizes));
    for (const StateSlice& held : state_slices(state_, state_.held())) {
        RM_RETURN_IF_ERROR(
            blocks_.write(held.view, [&](std::int64_t first, const TensorView& block) {
                Slice slice = held.slice;
                slice.first += first;
                slice.count = block.num_elements();
                return checkpoint.read(slice, block.bytes());
            }));
    }
    restored.path = path;
    restored.state = checkpoint.state();
    return {};
}

Result<Checkpointer::Restored> Checkpointer::restore() {
    Restored restored;
    std::array<double, 2> found = {-1, -1};
    Status status;
    if (options_.rank == 0 && enabled()) {
        auto latest = find_latest_checkpoint(options_.dir);
        if (latest) {
            found = {static_cast<double>(latest->name.epoch.value),
                     static_cast<double>(latest->name.step)};
            restored.notes = latest->notes;
        } else if (latest.error().code != ErrorCode::not_found) {
            status = latest.error();
        }
    }
    RM_RETURN_IF_ERROR(everyone(status, "checkpoint: looking for the newest"));
    broadcast_from_0(found);
    if (found[0] < 0) return make_error(ErrorCode::not_found, "no checkpoint in {}", options_.dir);
    const CheckpointName name{{static_cast<std::int64_t>(found[0])},
                              static_cast<std::int64_t>(found[1])};
    status = load(format("{}/{}", options_.dir, to_string(name)), restored);
    RM_RETURN_IF_ERROR(everyone(status, "checkpoint: reading"));
    return restored;
}

Result<Checkpointer::Restored> Checkpointer::restore_from(const std::string& path) {
    Restored restored;
    const std::string what = format("checkpoint.from {}", path);
    Status loaded = load(path, restored);
    if (!loaded) {
        loaded = make_error(loaded.error().code, "{}: {}", what, loaded.error().message);
    }
    RM_RETURN_IF_ERROR(everyone(loaded, what));
    return restored;
}

bool Checkpointer::as_rank_0_says(bool mine) {
    std::array<double, 2> values = {mine ? 1.0 : 0.0, 0};
    broadcast_from_0(values);
    return values[0] != 0;
}

}  // namespace rm
