#include "engine/run/rank_parts.h"

#include <fstream>

#include "kernels/cpu/cpu_kernels.h"

namespace rm {
namespace {

// A shared disk may stall for minutes; after ten collective timeouts it counts as hanging.
constexpr double kPatience = 10;

Meeting::Options meeting_options(const RankConfig& config) {
    const Seconds timeout = config.plan.collective_timeout;
    return {config.rank, config.plan.mesh.num_ranks(), timeout, {kPatience * timeout.value}};
}

Checkpointer::Options checkpointer_options(const RankConfig& config) {
    return {config.checkpoint_dir, config.epoch, config.rank, config.plan.mesh.num_ranks(),
            config.spec.checkpoint.keep};
}

}  // namespace

std::unique_ptr<Kernels> make_host_kernels(const RankConfig& config) {
    const bool trains = config.spec.num_steps() > 0;
    if (!trains || config.spec.optimizer.place == OptimizerPlace::device) return nullptr;
    return make_cpu_kernels(
        {.num_threads = config.num_threads, .compute = compute_type(config.spec)});
}

RankSpec rank_spec_of(const RankConfig& config, const ModelConfig& model, Kernels* host) {
    StateTypes types = state_types(config.spec);
    types.weights_only = config.spec.num_steps() == 0;
    LinearPrecision linears = linear_precision(config.spec);
    // Without steps there is no history of scales.
    if (types.weights_only && linears.scaling == Fp8LinearScaling::delayed)
        linears.scaling = Fp8LinearScaling::current;
    return {.model = model,
            .mesh = config.plan.mesh,
            .rank = config.rank,
            .zero = config.plan.zero,
            .types = types,
            .linears = linears,
            .attention = config.spec.attention,
            .messages = config.spec.messages,
            .positions = config.spec.data.positions,
            .host = host,
            .host_memory = config.host_memory};
}

RankParts::RankParts(const RankConfig& rank_config, const RankEnvironment& environment,
                     const ModelConfig& model_config, std::unique_ptr<Kernels> host_kernels)
    : config(rank_config),
      env(environment),
      model(model_config),
      host(std::move(host_kernels)),
      engine(env.kernels, env.network, env.progress, rank_spec_of(config, model, host.get())),
      faults(env.faults != nullptr ? *env.faults : no_faults),
      meeting(meeting_options(config), engine.streams()),
      checkpointer(checkpointer_options(config), engine.streams(), meeting, engine.state(),
                   faults) {}

double RankParts::estimated_seconds(double tokens, double pairs) const {
    constexpr double kUnknownPeak = 1e9;    // FLOP/s of a thread
    constexpr double kDoneAgain = 4.0 / 3;  // the forward pass, at most
    const double peak =
        config.peak_flops > 0 ? config.peak_flops : kUnknownPeak * config.num_threads;
    const double work =
        kDoneAgain * training_flops(model, tokens, pairs) / config.plan.mesh.num_ranks();
    return work / (0.1 * peak);
}

void RankParts::note(const std::string& text) const {
    if (is_first()) env.observer.on_note(text);
}

void RankParts::append_metrics(const std::string& json) const {
    if (!is_first() || config.run_dir.empty()) return;
    std::ofstream out(config.run_dir + "/metrics.jsonl", std::ios::app);
    out << json << '\n';
    if (!out.flush()) note(format("cannot write {}/metrics.jsonl", config.run_dir));
}

}  // namespace rm
