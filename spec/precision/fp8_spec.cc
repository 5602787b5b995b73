#include "spec/precision/fp8_spec.h"

namespace rm {

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
