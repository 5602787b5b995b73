#include "engine/train/step_reporter.h"

#include <algorithm>

#include "engine/train/connected.h"
#include "engine/train/step_health.h"

namespace rm {
StepReporter::StepReporter(const RankConfig& config, const ModelConfig& model,
                           RankEnvironment& environment, RankEngine& engine)
    : config_(config),
      model_(model),
      env_(environment),
      engine_(engine),
      sources_(ring_sources(engine.streams().communicator)) {}

MemoryReport StepReporter::memory() const {
    MemoryReport report;
    for (std::size_t i = 0; i < kNumMemoryKinds; ++i) {
        const auto kind = static_cast<MemoryKind>(i);
        const std::string name(to_string(kind));
        report.add(name, env_.kernels.device().allocated(kind));
        const Bytes host = engine_.state().host_bytes(kind);
        if (host.value > 0) report.add(on_host(name), host);
    }
    const Bytes kept_on_host = engine_.arenas().host.size;
    if (kept_on_host.value > 0) report.add(on_host("activations"), kept_on_host);
    return report;
}

// Bytes moved since the last call and the waits of this step, by axis.
std::map<std::string, AxisTraffic> StepReporter::traffic(const StepResult& result) {
    const auto sent = engine_.streams().communicator.counters().bytes_by_axis;
    std::map<std::string, AxisTraffic> axes;
    for (const auto& [axis, bytes] : sent) {
        const std::int64_t moved = bytes - sent_before_[axis];
        const auto wait = result.wait_seconds.find(axis);
        if (moved == 0) continue;
        axes[axis] = {moved, wait == result.wait_seconds.end() ? 0 : wait->second};
    }
    sent_before_ = sent;
    return axes;
}

// Since the last call, of the rings of attention.
std::map<int, HopRate> StepReporter::hops() {
    std::map<int, HopRate> arrived = env_.transport.take_arrivals();
    std::erase_if(arrived, [this](const auto& peer) { return !sources_.contains(peer.first); });
    return arrived;
}

void StepReporter::add_rates(const Done& step, StepReport& report) const {
    const StageSpec& spec = step.input.spec;
    const auto tokens = static_cast<double>(spec.batch);
    const auto S = static_cast<double>(spec.context);
    const auto sequences = static_cast<double>(spec.sequences_per_step());
    const auto pairs = static_cast<double>(step.input.batch.attended_pairs);
    report.model_flops = training_flops(model_, tokens, pairs);
    const double peak = config_.peak_flops * config_.plan.mesh.num_ranks();
    report.peak_name = config_.peak_name;
    if (peak > 0) {
        report.causal_mfu = report.model_flops / report.seconds / peak;
        report.full_mfu = training_flops(model_, tokens, sequences * S * S) / report.seconds / peak;
        report.hfu = step.result.executed_flops / report.seconds / peak;
    }
}

StepReport StepReporter::make(const Done& step) {
    const StepResult& result = step.result;
    StepReport report;
    report.step = step.position.step;
    report.num_steps = config_.spec.num_steps();
    report.stage = step.input.stage;
    report.tokens = step.input.spec.batch;
    report.tokens_total = step.position.tokens_total;
    report.loss = result.loss;
    report.grad_norm = result.grad_norm;
    report.finite = result.finite;
    report.learning_rate = step.input.learning_rate;
    report.diverged_above = divergence_limit(step.position.first_loss, model_.vocabulary);
    report.seconds = result.seconds + step.input.data_seconds;
    add_rates(step, report);
    report.phase_seconds = result.phase_seconds;
    report.phase_seconds["data"] = step.input.data_seconds;
    double busy = 0;
    for (const auto& [phase, seconds] : report.phase_seconds)
        busy += seconds;
    report.phase_seconds["idle"] = std::max(0.0, report.seconds - busy);
    report.memory = memory();
    report.axes = traffic(result);
    report.hops = hops();
    report.last_collective = comm_name(env_.progress.collectives.last);
    return report;
}

}  // namespace rm
