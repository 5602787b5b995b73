#include "engine/generate/inference_room.h"

#include <algorithm>
#include <functional>

#include "engine/train/dry_rank.h"

namespace rm {
namespace {

// A prompt may have any length up to it.
std::int64_t whole_units(std::int64_t tokens, const Mesh& mesh) {
    const std::int64_t unit = length_unit(mesh);
    return std::max<std::int64_t>(1, (tokens + unit - 1) / unit) * unit;
}

StageShape shape_of(const RankEngine& engine, const InferenceRoom& room) {
    StageShape shape;
    shape.context = whole_units(room.tokens, engine.spec().mesh);
    shape.memory = room.memory;
    shape.rope = room.rope;
    shape.rope_context = std::max(room.trained_context, room.tokens + room.new_tokens);
    shape.new_tokens = room.new_tokens;
    return shape;
}

// `work` with the room's memory, and in windows where a rank has too little.
Status in_some_memory(const RankEngine& engine, Meeting& meeting, const InferenceRoom& room,
                      const std::function<Status(const StageShape&)>& work) {
    StageShape shape = shape_of(engine, room);
    const Status mine = work(shape);
    const bool full = !mine && mine.error().code == ErrorCode::resource_exhausted;
    const std::vector<double> ranks = meeting.sums({full ? 1.0 : 0.0, !mine && !full ? 1.0 : 0.0});
    if (ranks[0] == 0 || ranks[1] > 0) return meeting.everyone(mine, "inference");
    shape.memory.kept = KeptPlace::host;
    shape.memory.working = WorkingSet::windows;
    return meeting.everyone(work(shape), "inference in windows");
}

}  // namespace

Status enter_inference(RankEngine& engine, Meeting& meeting, const InferenceRoom& room) {
    return in_some_memory(engine, meeting, room,
                          [&](const StageShape& shape) { return engine.enter(shape); });
}

Status check_inference(RankEngine& engine, Meeting& meeting, const InferenceRoom& room) {
    return in_some_memory(engine, meeting, room, [&](const StageShape& shape) {
        return status_of(plan_arenas(engine.spec(), shape, engine.streams().kernels));
    });
}

}  // namespace rm
