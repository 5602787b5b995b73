#include "planner/memory.h"

#include "base/words.h"
#include "spec/model_preset.h"

namespace rm {
namespace {

int ranks_of(const JobSpec& spec, const UsableDevices& devices) {
    return spec.num_ranks().value_or(devices.number);
}

// The number of ranks that share the state: a tensor group at stage 0, all ranks from stage 1 on
// and with gradients in bf16. Stages 1 and 2 replicate part of it, so the sum is a lower bound.
std::int64_t parts_of(const JobSpec& spec, int num_ranks) {
    if (spec.zero != 0 || precision_of(spec.optimizer.gradients) == Precision::bf16)
        return num_ranks;
    return spec.parallel ? spec.parallel->size(Axis::tensor) : 1;
}

// A weight in fp32, its gradient and two moments.
std::int64_t bytes_per_parameter(const JobSpec& spec) {
    return 4 + bytes_of(precision_of(spec.optimizer.gradients)) +
           2 * bytes_of(precision_of(spec.optimizer.moments));
}

bool is_known(const JobSpec& spec, const UsableDevices& devices) {
    // With the optimizer state on the host, GPU memory is not the limit.
    const bool on_host =
        spec.optimizer.place == OptimizerPlace::host && spec.resources.kind != "cpu";
    return devices.largest.value > 0 && !on_host;
}

}  // namespace

Status check_state_fits(const JobSpec& spec, std::int64_t num_parameters,
                        const UsableDevices& devices) {
    if (!is_known(spec, devices)) return {};
    const int num_ranks = ranks_of(spec, devices);
    const Bytes least{num_parameters / parts_of(spec, num_ranks) * bytes_per_parameter(spec)};
    if (least <= devices.largest) return {};
    return invalid_argument(
        "model {}: weights, gradients and moments of its {} parameters take at least {} on each of "
        "{}, and no device of this cluster has more than {}; {}",
        spec.model.name(), num_parameters, least, counted(num_ranks, "rank"), devices.largest,
        kFitsRemedy);
}

Status check_preset_fits(const JobSpec& spec, const UsableDevices& devices) {
    const Result<ModelConfig> preset = find_preset(spec.model.preset);
    return preset ? check_state_fits(spec, preset->num_parameters(), devices) : Status();
}

std::int64_t most_parameters(const JobSpec& spec, const UsableDevices& devices) {
    if (!is_known(spec, devices)) return 0;
    const std::int64_t parts = parts_of(spec, ranks_of(spec, devices));
    return devices.largest.value / bytes_per_parameter(spec) * parts;
}

}  // namespace rm
