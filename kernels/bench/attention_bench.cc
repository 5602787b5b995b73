#include <cmath>

#include "kernels/bench/bench.h"

namespace rm::bench {
namespace {

constexpr std::int64_t kHeads = 4, kKvHeads = 2;

void bench_head_dim(Kernels& kernels, std::int64_t D, const Options& options,
                    std::vector<Row>& rows) {
    const std::int64_t T = options.context;
    Bench bench(kernels, options);
    const std::vector<Run> runs = {{0, 0, T}};
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    const TensorView q = bench.compute({T, kHeads, D}), k = bench.compute({T, kKvHeads, D});
    const TensorView v = bench.compute({T, kKvHeads, D}), d_out = bench.compute({T, kHeads, D});
    const TensorView out = bench.compute({T, kHeads, D});
    const TensorView lse = bench.tensor({T, kHeads}), delta = bench.tensor({T, kHeads});
    const AttentionState state{.acc = bench.tensor({T, kHeads, D}),
                               .m = bench.tensor({T, kHeads}),
                               .l = bench.tensor({T, kHeads})};
    const AttentionFwd fwd{
        .state = state, .q = q, .k = k, .v = v, .q_runs = runs, .kv_runs = runs, .scale = scale};
    const AttentionBwd bwd{.q = q,
                           .k = k,
                           .v = v,
                           .d_out = d_out,
                           .lse = lse,
                           .delta = delta,
                           .q_runs = runs,
                           .kv_runs = runs,
                           .scale = scale,
                           .d_q = bench.tensor({T, kHeads, D}),
                           .d_k = bench.tensor({T, kKvHeads, D}),
                           .d_v = bench.tensor({T, kKvHeads, D})};
    const Workspace fwd_space = bench.workspace(fwd), bwd_space = bench.workspace(bwd);
    const auto forward = [&](Stream& stream) {
        kernels.attention_begin({.state = state}, stream);
        kernels.attention_fwd(fwd, fwd_space, stream);
        kernels.attention_finish({.state = state, .out = out, .lse = lse}, stream);
    };
    const auto both = [&](Stream& stream) {
        forward(stream);
        kernels.attention_delta({.d_out = d_out, .out = out, .delta = delta}, stream);
        kernels.attention_bwd(bwd, bwd_space, stream);
    };
    const double pairs = static_cast<double>(attended_pairs(runs, runs) * kHeads * D);
    const auto work = [&](std::string_view name, double flops, std::string_view backward) {
        const auto torch = format(
            R"({{"work": "attention", "S": {}, "Hq": {}, "Hk": {}, "D": {}, "dtype": "{}"{}}})", T,
            kHeads, kKvHeads, D, to_string(options.compute), backward);
        return Work{.name = format("{} S {} Hq {} Hk {} D {}", name, T, kHeads, kKvHeads, D),
                    .flops = flops * pairs,
                    .torch = torch};
    };
    rows.push_back(bench.measure(work("attention_fwd", 4, ""), forward));
    rows.push_back(bench.measure(work("attention_fwd+bwd", 14, R"(, "backward": true)"), both));
}

}  // namespace

std::vector<Row> bench_attention(Kernels& kernels, const Options& options) {
    std::vector<Row> rows;
    for (const std::int64_t D : {32, 64, 128})
        bench_head_dim(kernels, D, options, rows);
    return rows;
}

}  // namespace rm::bench
