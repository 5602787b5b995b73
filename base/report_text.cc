#include "base/report_text.h"

#include <algorithm>

#include "base/format.h"

namespace rm {
namespace {

std::string rate(const StepReport& report) {
    const double speed = static_cast<double>(report.tokens) / report.seconds;
    if (!(report.seconds > 0)) return "-";
    if (speed >= 1e6) return format("{:.2}M", speed / 1e6);
    if (speed >= 1e4) return format("{:.0}k", speed / 1e3);
    return format("{:.0}", speed);
}

}  // namespace

std::string step_line(const StepReport& r, std::string_view peak_name) {
    std::string line = format("step {}/{}  loss {:.4}  grad {:.2}  {}  {} tok/s", r.step,
                              r.num_steps, r.loss, r.grad_norm, Seconds{r.seconds}, rate(r));
    if (r.causal_mfu > 0) {
        line += format("  MFU {:.1}% (causal, {})", r.causal_mfu * 100, peak_name);
    }
    if (r.memory.total.value > 0) line += format("  mem {}", r.memory.total);
    if (r.ring_bytes_sent > 0 && r.seconds > 0) {
        const double exposed = std::min(1.0, r.ring_wait_seconds / r.seconds);
        line += format("  ring {} exposed {:.1}%", Bytes{r.ring_bytes_sent}, exposed * 100);
    }
    if (!r.finite) line += "  not finite: update skipped";
    return line;
}

std::string evaluation_line(const EvaluationReport& r) {
    if (r.unigram_entropy <= 0) {
        return format("held out after step {}: {:.4} nats per token over {} tokens", r.step, r.loss,
                      r.targets);
    }
    return format(
        "held out after step {}: {:.4} nats per byte over {} bytes (text: unigram {:.3}, "
        "bigram {:.3})",
        r.step, r.loss, r.targets, r.unigram_entropy, r.bigram_entropy);
}

std::string stage_done_line(int stage, std::int64_t step) {
    return format("stage {} done at step {}", stage + 1, step);
}

}  // namespace rm
