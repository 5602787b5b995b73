#include <algorithm>
#include <vector>

#include "base/text.h"
#include "engine/dry_run/predict.h"

namespace rm {
namespace {

// "attention 201 s (95.1 %), products 8.1 s (3.8 %)": the phases of this kind, the largest first,
// without those below a hundredth of a percent.
enum class Shown { work, waits };
std::string phases_text(const Prediction& prediction, Shown shown) {
    std::vector<std::pair<double, std::string>> phases;
    for (const auto& [word, seconds] : prediction.phases) {
        const auto [name, exposed] = step_phase(word);
        const bool wanted = exposed == (shown == Shown::waits);
        if (wanted && seconds > 1e-4 * prediction.step.value) phases.emplace_back(seconds, name);
    }
    std::sort(phases.rbegin(), phases.rend());
    std::vector<std::string> texts;
    for (const auto& [seconds, name] : phases) {
        texts.push_back(format("{} {} ({:.1} %)", name, Seconds{seconds},
                               100 * seconds / prediction.step.value));
    }
    return texts.empty() ? "nothing" : join(texts);
}

std::string by_name(const std::map<std::string, Bytes>& bytes) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : bytes)
        texts.push_back(format("{} {}", name, value));
    return texts.empty() ? "nothing" : join(texts);
}

std::string arena_text(const ArenaPrediction& arena) {
    const double ratio = arena.lower_bound.value == 0
                             ? 1
                             : static_cast<double>(arena.planned.value) /
                                   static_cast<double>(arena.lower_bound.value);
    return format("{}, lower bound {} (x {:.3})", arena.planned, arena.lower_bound, ratio);
}

}  // namespace

std::string describe(const Prediction& p, const DeviceProfile* profile) {
    std::string text = format("  state         {}\n", by_name(p.state.by_kind)) +
                       format("  device arena  {}\n", arena_text(p.device));
    if (p.host.planned.value > 0) text += format("  host arena    {}\n", arena_text(p.host));
    text += format("  device total  {}{}\n", p.device_total(),
                   p.held.value > 0 ? format(", {} of it held by the driver", p.held) : "");
    text += format("  moved         {}\n", by_name(p.moved));
    if (profile == nullptr) return text;
    text += format("  step          {}, {:.0} tok/s\n", p.step, p.tokens_per_sec);
    text += format("  works         {}\n", phases_text(p, Shown::work));
    text += format("  waits         {}\n", phases_text(p, Shown::waits));
    text += format(
        "  MFU           {:.1} % (causal, forward and backward once, of {} {:.0} TFLOP/s of {})\n",
        100 * p.causal_mfu, to_string(profile->compute), profile->peak_flops * 1e-12,
        profile->name);
    if (p.fp8_mfu == 0) return text;
    return text + format("                {:.1} % of fp8 {:.0} TFLOP/s\n", 100 * p.fp8_mfu,
                         profile->fp8_peak_flops * 1e-12);
}

}  // namespace rm
