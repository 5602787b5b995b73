#include <algorithm>

#include "bench/bench.h"
#include "bench/engine/ranks.h"

namespace rm::bench {
namespace {

constexpr std::int64_t kContext = 8192, kGpuContext = 32768;

// The 8B model's widths, as many layers as leave room for fp32 states.
ModelConfig gpu_step_model() {
    ModelConfig model = find_preset("llama3-8b").value();
    model.num_layers = 4;
    return model;
}

ModelConfig step_model() {
    return {.vocabulary = 8192,
            .hidden = 512,
            .num_layers = 4,
            .num_query_heads = 4,
            .num_kv_heads = 4,
            .head_dim = 128,
            .feed_forward = 1536};
}

}  // namespace

void bench_step(Kernels& kernels, const Options& usual_options) {
    Options options = usual_options;
    options.repeats = std::min(options.repeats, 3);
    const std::int64_t usual = options.on_gpu ? kGpuContext : kContext;
    const std::int64_t context = options.context != 0 ? options.context : usual;
    const ModelConfig m = options.on_gpu ? gpu_step_model() : step_model();
    const std::int64_t tile = options.on_gpu ? 8192 : 512;
    TrainingRank rank(kernels, make_local_transport(make_local_hub(1), {}), {.model = m},
                      {context, {.tile_tokens = tile, .chunk_tokens = context}, m.rope});
    const auto tokens = static_cast<double>(context);
    const Work work{
        .name = format("step L {} C {} Hq {} Hk {} D {} F {} V {} T {}", m.num_layers, m.hidden,
                       m.num_query_heads, m.num_kv_heads, m.head_dim, m.feed_forward, m.vocabulary,
                       context),
        .flops = training_flops(m, tokens, tokens * (tokens + 1) / 2),
        .tokens = tokens,
        .torch =
            format(R"({{"work": "step", "T": {}, "L": {}, "C": {}, "Hq": {}, "Hk": {}, "D": {}, )"
                   R"("F": {}, "V": {}, "dtype": "{}"}})",
                   context, m.num_layers, m.hidden, m.num_query_heads, m.num_kv_heads, m.head_dim,
                   m.feed_forward, m.vocabulary, to_string(options.compute))};
    Bench bench(kernels, options);
    bench.measure(work, [&](Stream&) { rank.step(); });
}

}  // namespace rm::bench
