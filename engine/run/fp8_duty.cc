#include "engine/run/fp8_duty.h"

#include <algorithm>

#include "base/words.h"

namespace rm {
namespace {

Error breach_error(std::int64_t step, const Fp8Tensor& tensor, const Fp8Limits& limits) {
    return invalid_argument(
        "step {}: FP8 does not hold {}: {}. With fp8.fallback_steps above 0 its layer computes in "
        "bf16 for so many steps; or lower the learning rate, or keep more layers in bf16 "
        "(fp8.bf16_layers)",
        step, tensor.name(), breach_text(tensor.effect, limits));
}

std::string fallback_note(std::int64_t step, const Fp8Tensor& tensor, const Fp8Limits& limits,
                          std::int64_t until) {
    return format("step {}: FP8 does not hold {}: {}. The layer computes in bf16 until step {}",
                  step, tensor.name(), breach_text(tensor.effect, limits), until);
}

}  // namespace

void Fp8Duty::begin_stage() {
    sites().history().forget();
    sites().fallback().forget();
}

void Fp8Duty::begin_step(std::int64_t step) {
    parts_.engine.weights().enter_step_in_fp8(parts_.engine.model().ops(), step);
}

void Fp8Duty::add_to(StepReport& report) const {
    for (const Fp8Tensor& tensor : sites().monitor().tensors()) {
        Fp8TensorReport& of_site = report.fp8[std::string(to_string(tensor.site))];
        of_site.flushed = std::max(of_site.flushed, flushed_share(tensor.effect));
        of_site.saturated = std::max(of_site.saturated, saturated_share(tensor.effect));
        const double error = relative_error(tensor.effect);
        if (error < of_site.error) continue;
        of_site.error = error;
        of_site.layer = static_cast<int>(tensor.layer);
    }
    report.fp8_fallback_layers = sites().fallback().num_in_bf16(report.step);
    report.fp8_fallbacks = sites().fallback().count();
}

Status Fp8Duty::end_step(std::int64_t step) {
    for (const Fp8Tensor& tensor : sites().monitor().beyond(limits())) {
        if (limits().fallback_steps == 0) return breach_error(step, tensor, limits());
        const std::int64_t until =
            sites().fallback().fall_back(tensor.layer, step, limits().fallback_steps);
        sites().history().forget(tensor.layer);
        if (parts_.is_first())
            parts_.env.observer.on_alarm(fallback_note(step, tensor, limits(), until));
    }
    return {};
}

std::string Fp8Duty::nonfinite_text() const {
    const auto tensors = sites().monitor().tensors();
    const auto found = std::find_if(tensors.begin(), tensors.end(), [](const Fp8Tensor& tensor) {
        return tensor.effect.nonfinite > 0;
    });
    if (found == tensors.end()) return "";
    return format("; in FP8, {} numbers of {} were not finite", found->effect.nonfinite,
                  found->name());
}

}  // namespace rm
