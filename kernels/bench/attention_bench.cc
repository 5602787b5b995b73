#include <cmath>

#include "kernels/bench/bench.h"

namespace rm::bench {
namespace {

struct Shape {
    std::int64_t T, Hq, Hk, D;
    bool with_peers = false;
};

// Heads of the 8B and 70B models on a GPU.
std::vector<Shape> gpu_shapes(std::int64_t context) {
    if (context != 0) return {{context, 32, 4, 128, true}};
    std::vector<Shape> shapes;
    for (const std::int64_t T : {4096, 16384, 32768, 65536})
        shapes.push_back({T, 32, 4, 128, true});
    return shapes;
}

// Those of `context` tokens; 0: of several lengths, more heads, and the one at which others are
// compared, who hold all T x T scores.
std::vector<Shape> shapes(const Options& options) {
    const std::int64_t context = options.context;
    if (options.on_gpu) return gpu_shapes(context);
    std::vector<Shape> shapes;
    const auto head_sizes = [&](std::int64_t T) {
        for (const std::int64_t D : {32, 64, 128})
            shapes.push_back({T, 4, 2, D});
    };
    if (context != 0) {
        head_sizes(context);
        return shapes;
    }
    for (const std::int64_t T : {1024, 4096, 8192, 16384})
        head_sizes(T);
    shapes.push_back({4096, 4, 4, 80});
    shapes.push_back({4096, 8, 1, 128});
    shapes.push_back({4096, 4, 4, 128, true});
    return shapes;
}

void bench_shape(Kernels& kernels, const Shape& shape, const Options& options,
                 std::vector<Row>& rows) {
    const std::int64_t T = shape.T, Hq = shape.Hq, Hk = shape.Hk, D = shape.D;
    Bench bench(kernels, options);
    const std::vector<Run> runs = {{0, 0, T}};
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    const TensorView q = bench.compute({T, Hq, D}), k = bench.compute({T, Hk, D});
    const TensorView v = bench.compute({T, Hk, D}), d_out = bench.compute({T, Hq, D});
    const TensorView out = bench.zeros(options.compute, {T, Hq, D});
    const auto sums = [&](Bench::Shape size) { return bench.zeros(DType::f32, size); };
    const TensorView lse = sums({T, Hq}), delta = sums({T, Hq});
    const AttentionState state{.acc = sums({T, Hq, D}), .m = sums({T, Hq}), .l = sums({T, Hq})};
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
                           .d_q = sums({T, Hq, D}),
                           .d_k = sums({T, Hk, D}),
                           .d_v = sums({T, Hk, D})};
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
    const double pairs = static_cast<double>(attended_pairs(runs, runs) * Hq * D);
    const auto work = [&](std::string_view name, double flops, std::string_view backward) {
        const auto torch = format(
            R"({{"work": "attention", "S": {}, "Hq": {}, "Hk": {}, "D": {}, "dtype": "{}"{}}})",
            shape.T, shape.Hq, shape.Hk, shape.D, to_string(options.compute), backward);
        return Work{
            .name = format("{} S {} Hq {} Hk {} D {}", name, shape.T, shape.Hq, shape.Hk, shape.D),
            .flops = flops * pairs,
            .torch = shape.with_peers ? torch : ""};
    };
    rows.push_back(bench.measure(work("attention_fwd", 4, ""), forward));
    rows.push_back(bench.measure(work("attention_fwd+bwd", 14, R"(, "backward": true)"), both));
}

}  // namespace

std::vector<Row> bench_attention(Kernels& kernels, const Options& options) {
    std::vector<Row> rows;
    for (const Shape& shape : shapes(options))
        bench_shape(kernels, shape, options, rows);
    return rows;
}

}  // namespace rm::bench
