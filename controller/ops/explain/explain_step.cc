#include <algorithm>

#include "base/words.h"
#include "controller/ops/explain/explain.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

constexpr double kLargeShare = 0.2;  // of a step
constexpr double kLate = 5;          // in steps: the next report is late after this time
constexpr double kLateAtLeast = 30;  // s

struct Phase {
    std::string_view name;
    std::string_view subject;
    std::string_view waits;  // "compute waited ... for it"
    std::string_view remedy;
};

constexpr Phase kPhases[] = {
    {"ring_exposed", "ring", "for keys and values of the next rank",
     "a smaller ring (`parallel`) has more work per hop to hide it behind; so has a longer "
     "context"},
    {"ulysses_exposed", "ulysses", "for the exchange of heads",
     "keep the ulysses axis inside a node, or make it smaller"},
    {"tensor_exposed", "tensor", "for sums of the tensor axis",
     "keep the tensor axis inside a node, or make it smaller"},
    {"gather_exposed", "weights", "for weights of other ranks (ZeRO-3)",
     "`parallel: {zero: 2}` gathers once per step, if memory allows"},
    {"reduce_exposed", "gradients", "for sums of gradients", "a larger `batch` reduces less often"},
    {"checkpoint", "checkpoint", "for the checkpoint's writer",
     "a larger `checkpoint.every`, or a faster disk"},
    {"data", "data", "for the data",
     "`ringmaster data prepare` encodes text once, before training"}};

void add_waits(const pb::StepReport& step, Findings& findings) {
    for (const Phase& phase : kPhases) {
        const auto found = step.phase_seconds().find(std::string(phase.name));
        if (found == step.phase_seconds().end() || !(step.seconds() > 0)) continue;
        const double share = found->second / step.seconds();
        if (share < kLargeShare) continue;
        findings.push_back(
            problem(std::string(phase.subject),
                    format("compute of rank 0 waited {:.1}% of step {} ({} of {}) {}", 100 * share,
                           step.step(), to_string(Seconds{found->second}),
                           to_string(Seconds{step.seconds()}), phase.waits),
                    std::string(phase.remedy)));
    }
}

void add_lateness(const pb::StepReport& step, WallTime now, Findings& findings) {
    const bool was_last = step.num_steps() > 0 && step.step() >= step.num_steps();
    if (!step.has_time() || was_last) return;
    const Seconds since = now - from_proto(step.time());
    if (since.value < std::max(kLateAtLeast, kLate * step.seconds())) return;
    findings.push_back(
        problem("step",
                format("step {} was reported {} ago and took {}; the next is late", step.step(),
                       to_string(since), to_string(Seconds{step.seconds()})),
                "an evaluation, a checkpoint or an export may be under way; look "
                "at the ranks' logs otherwise"));
}

void add_fallback(const pb::StepReport& step, Findings& findings) {
    const auto layers = step.fp8_fallback_layers();
    if (layers == 0) return;
    findings.push_back(problem(
        "fp8",
        format("{} {} in bf16 for now: FP8 does not hold a tensor there, which rank 0's log names",
               counted(layers, "layer"), layers == 1 ? "computes" : "compute"),
        "a lower learning rate, fp8.recipe: tensorwise, or more layers in bf16 (fp8.bf16_layers)"));
}

}  // namespace

Findings explain_divergence(const pb::StepReport& step) {
    const StepReport report = from_proto(step);
    if (!has_diverged(report)) return {};
    return {problem("loss",
                    format("the run has diverged: the loss of step {} is {:.4}, and a run that "
                           "learns stays below {:.2}",
                           report.step, report.loss, report.diverged_above),
                    "a lower learning rate or a longer warm-up")};
}

StepsAre steps_are(const State& state, const Job& job) {
    const Attempt* attempt = newest_attempt(state, job.id);
    if (attempt == nullptr || attempt->ranks.empty()) return StepsAre::reported;
    const Node* node = find_node(state, attempt->ranks.front().device.node);
    return node == nullptr || node->session.up ? StepsAre::reported : StepsAre::cut_off;
}

Findings explain_step(const pb::StepReport& step, WallTime now, StepsAre steps) {
    Findings findings;
    if (step.step() == 0) return findings;
    if (!step.finite()) {
        findings.push_back(problem("loss",
                                   format("step {} was skipped: loss {}, gradient norm {}",
                                          step.step(), step.loss(), step.grad_norm()),
                                   "a lower learning rate, or fp32, if it happens again"));
    }
    add_fallback(step, findings);
    add_waits(step, findings);
    if (steps == StepsAre::reported) add_lateness(step, now, findings);
    return findings;
}

}  // namespace rm
