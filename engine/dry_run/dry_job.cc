#include "engine/dry_run/dry_job.h"

#include <utility>

#include "engine/train/rank_config.h"
#include "kernels/meta/meta_kernels.h"

namespace rm {

DryJob::DryJob(const JobSpec& spec, const ModelConfig& model, const Sharding& sharding,
               DryMachine machine)
    : machine_(std::move(machine)) {
    rank_.model = model;
    rank_.mesh = sharding.mesh;
    Mesh::Coords coords{};
    coords[usize(Axis::ring)] = rank_.mesh.size(Axis::ring) - 1;
    rank_.rank = rank_.mesh.rank(coords);
    rank_.zero = sharding.zero;
    rank_.types = state_types(spec);
    rank_.linears = linear_precision(spec);
    rank_.attention = spec.attention;
    rank_.messages = spec.messages;
    rank_.positions = spec.data.positions;
    types_.compute = compute_type(spec);
    if (spec.optimizer.place == OptimizerPlace::device) return;
    host_ = make_meta_kernels(unread_, {.types = types_});
    rank_.host = host_.get();
}

DryRunOptions DryJob::options(const StageSpec& stage) const {
    const std::int64_t data = rank_.mesh.size(Axis::data);
    return {.types = types_,
            .profile = machine_.profile,
            .host_profile = machine_.host_profile,
            .like = machine_.like,
            .links = machine_.links,
            .micro_batches = (stage.sequences_per_step() + data - 1) / data};
}

namespace {

// The setting whose ops the profile has no speeds of, and what these are; or nothing.
std::optional<std::pair<std::string_view, std::string_view>> unmeasured(
    const JobSpec& spec, const DeviceProfile& profile) {
    const bool blocks = spec.fp8.recipe == Fp8Recipe::blockwise;
    if (computes_in_fp8(spec) && blocks && !computes_fp8_blocks(profile))
        return {{"fp8.recipe: blockwise", "FP8 with scales of blocks"}};
    if (computes_in_fp8(spec) && !blocks && !computes_fp8(profile))
        return {{"precision: fp8", "FP8"}};
    if (spec.attention == AttentionNumbers::eight_bit && !computes_attention_8bit(profile))
        return {{"attention: 8bit", "attention in 8 bits"}};
    return std::nullopt;
}

}  // namespace

Status check_8bit_speeds(const JobSpec& spec, const DeviceProfile& profile) {
    const auto missing = unmeasured(spec, profile);
    if (!missing) return {};
    return invalid_argument(
        "{}: the profile of {} has no speeds of {}: the device has no such products, or must be "
        "measured again",
        missing->first, profile.name, missing->second);
}

const StageSpec& longest_stage(const JobSpec& spec) {
    return spec.stages[usize(spec.longest_stage_index())];
}

}  // namespace rm
