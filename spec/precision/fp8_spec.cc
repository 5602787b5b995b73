#include "spec/precision/fp8_spec.h"

namespace rm {
namespace {

Status check_share(std::string_view name, double share) {
    if (share > 0 && share <= 1) return {};
    return invalid_argument("fp8.{}: {} is no share; above 0, and at most 1, which sets no limit",
                            name, share);
}

}  // namespace

Status check_fp8_spec(const Fp8Spec& fp8) {
    if (fp8.bf16_layers < 0) {
        return invalid_argument(
            "fp8.bf16_layers: {} must not be negative; 0 keeps no layer in bf16", fp8.bf16_layers);
    }
    if (fp8.fallback_steps < 0) {
        return invalid_argument(
            "fp8.fallback_steps: {} must not be negative; 0 ends a run that FP8 does not hold",
            fp8.fallback_steps);
    }
    if (fp8.bf16_layers == 0 && fp8.fallback_steps > 0) {
        return invalid_argument(
            "fp8.bf16_layers: 0 makes room for no layer in bf16, to which fp8.fallback_steps: {} "
            "would return others; keep 1 at each end, or set fallback_steps: 0",
            fp8.fallback_steps);
    }
    RM_RETURN_IF_ERROR(check_share("max_saturated", fp8.max_saturated));
    return check_share("max_flushed", fp8.max_flushed);
}

Status check_fp8_model(const Fp8Spec& fp8, const ModelConfig& model, std::string_view name,
                       int tensor) {
    constexpr std::int64_t kUnit = 16;
    const std::int64_t layers = model.num_layers;
    if (2 * fp8.bf16_layers >= layers) {
        return invalid_argument(
            "fp8.bf16_layers: {} at each end leave none of the {} of {} in FP8; at most {}",
            fp8.bf16_layers, counted(layers, "layer"), name, (layers - 1) / 2);
    }
    const auto check = [&](std::string_view what, std::int64_t size, std::int64_t ranks) -> Status {
        if (size % (kUnit * ranks) == 0) return {};
        return invalid_argument("precision: fp8 takes sizes of multiples of {}; {} has {} {}{}",
                                kUnit, name, what, size,
                                ranks == 1 ? "" : format(" for {} tensor ranks", ranks));
    };
    RM_RETURN_IF_ERROR(check("a hidden size of", model.hidden, 1));
    RM_RETURN_IF_ERROR(check("a head dim of", model.head_dim, 1));
    return check("a feed-forward size of", model.feed_forward, tensor);
}

}  // namespace rm
