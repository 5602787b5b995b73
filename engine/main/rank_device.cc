#include "engine/main/rank_device.h"

#include "base/text.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cuda/library/load.h"

namespace rm {

Result<RankDevice> parse_rank_device(std::string_view text) {
    constexpr std::string_view kNumbered = "cuda:";
    if (text == "cpu") return RankDevice{};
    if (text == "cuda") return RankDevice{RankDevice::Kind::cuda, 0};
    if (text.starts_with(kNumbered)) {
        const auto index = parse_number<int>(text.substr(kNumbered.size()));
        if (index && *index >= 0) return RankDevice{RankDevice::Kind::cuda, *index};
    }
    return invalid_argument("device '{}' is not known; cpu, cuda or cuda:N", text);
}

Status check_rank_device(const RankDevice& device, const JobSpec& spec) {
    if (device.kind == RankDevice::Kind::cpu) return {};
    if (compute_type(spec) == DType::bf16) return check_cuda_device(device.index);
    return invalid_argument(
        "precision {}: the cuda device computes in bf16; use that, or --device cpu",
        spec.precision);
}

Result<std::unique_ptr<Kernels>> make_rank_kernels(const RankDevice& device,
                                                   const RankConfig& config,
                                                   const std::string& tuning_file) {
    RM_RETURN_IF_ERROR(check_rank_device(device, config.spec));
    if (device.kind == RankDevice::Kind::cuda)
        return load_cuda_kernels({.device = device.index, .tuning_file = tuning_file});
    return make_cpu_kernels(
        {.num_threads = config.num_threads, .compute = compute_type(config.spec)});
}

}  // namespace rm
