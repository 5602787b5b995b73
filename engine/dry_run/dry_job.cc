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

Status check_fp8_speeds(const JobSpec& spec, const DeviceProfile& profile) {
    if (!computes_in_fp8(spec) || computes_fp8(profile)) return {};
    return invalid_argument(
        "precision: fp8: the profile of {} has no speeds of FP8: the device has no such products, "
        "or must be measured again",
        profile.name);
}

const StageSpec& longest_stage(const JobSpec& spec) {
    return spec.stages[usize(spec.longest_stage_index())];
}

}  // namespace rm
