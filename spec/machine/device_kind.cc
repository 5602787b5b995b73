#include "spec/machine/device_kind.h"

#include "spec/model_preset.h"

namespace rm {

Status check_heads(std::int64_t head_dim, std::string_view model, std::string_view kind) {
    constexpr std::int64_t kUnit = 8;
    constexpr std::int64_t kMost = 128;
    if (head_dim % kUnit == 0 && head_dim <= kMost) return {};
    return invalid_argument(
        "model: {} has heads of {} dims; {} devices compute multiples of {} up to {}, cpu any",
        model, head_dim, kind, kUnit, kMost);
}

Status check_computes(const JobSpec& spec, std::string_view kind) {
    if (kind == kCpuKind) return {};
    if (precision_of(spec.precision) != Precision::bf16) {
        return invalid_argument("precision: {}; {} devices compute in bf16 and fp8, cpu in all",
                                spec.precision, kind);
    }
    const auto model = find_preset(spec.model.preset);
    return model ? check_heads(model->head_dim, spec.model.preset, kind) : Status();
}

}  // namespace rm
