#include <cmath>

#include "bench/bench.h"

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

// Shapes of `context` tokens; 0: of several lengths and more heads, and the shape at which peers,
// which hold all T x T scores, are compared.
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

// Queries, keys and values of one document, and what both passes write.
struct Operands {
    Operands(Bench& bench, const Shape& s, DType compute)
        : runs{{0, 0, s.T}},
          out(bench.zeros(compute, {s.T, s.Hq, s.D})),
          lse(bench.zeros(DType::f32, {s.T, s.Hq})),
          delta(bench.zeros(DType::f32, {s.T, s.Hq})) {
        const double scale = 1 / std::sqrt(static_cast<double>(s.D));
        const auto sums = [&](Bench::Shape size) { return bench.zeros(DType::f32, size); };
        const TensorView q = bench.compute({s.T, s.Hq, s.D}), k = bench.compute({s.T, s.Hk, s.D});
        const TensorView v = bench.compute({s.T, s.Hk, s.D});
        const TensorView d_out = bench.compute({s.T, s.Hq, s.D});
        fwd = {.state = {.acc = sums({s.T, s.Hq, s.D}),
                         .m = sums({s.T, s.Hq}),
                         .l = sums({s.T, s.Hq})},
               .q = q,
               .k = k,
               .v = v,
               .q_runs = runs,
               .kv_runs = runs,
               .scale = scale};
        bwd = {.q = q,
               .k = k,
               .v = v,
               .d_out = d_out,
               .lse = lse,
               .delta = delta,
               .q_runs = runs,
               .kv_runs = runs,
               .scale = scale,
               .d_q = sums({s.T, s.Hq, s.D}),
               .d_k = sums({s.T, s.Hk, s.D}),
               .d_v = sums({s.T, s.Hk, s.D})};
    }

    const std::vector<Run> runs;
    const TensorView out, lse, delta;
    AttentionFwd fwd;
    AttentionBwd bwd;
};

Work work_of(const Shape& s, std::string_view name, double flops_per_pair, const Options& options,
             std::string_view backward) {
    const std::vector<Run> runs = {{0, 0, s.T}};
    const auto torch =
        format(R"({{"work": "attention", "S": {}, "Hq": {}, "Hk": {}, "D": {}, "dtype": "{}"{}}})",
               s.T, s.Hq, s.Hk, s.D, to_string(options.compute), backward);
    return {.name = format("{} S {} Hq {} Hk {} D {}", name, s.T, s.Hq, s.Hk, s.D),
            .flops = flops_per_pair * static_cast<double>(attended_pairs(runs, runs) * s.Hq * s.D),
            .torch = s.with_peers ? torch : ""};
}

void bench_shape(Kernels& kernels, const Shape& shape, const Options& options) {
    Bench bench(kernels, options);
    const Operands o(bench, shape, options.compute);
    const Workspace fwd_space = bench.workspace(o.fwd), bwd_space = bench.workspace(o.bwd);
    const auto forward = [&](Stream& stream) {
        kernels.run(AttentionBegin{.state = o.fwd.state}, stream);
        kernels.run(o.fwd, fwd_space, stream);
        kernels.run(AttentionFinish{.state = o.fwd.state, .out = o.out, .lse = o.lse}, stream);
    };
    const auto both = [&](Stream& stream) {
        forward(stream);
        kernels.run(AttentionDelta{.d_out = o.bwd.d_out, .out = o.out, .delta = o.delta}, stream);
        kernels.run(o.bwd, bwd_space, stream);
    };
    bench.measure(work_of(shape, "attention_fwd", 4, options, ""), forward);
    bench.measure(work_of(shape, "attention_fwd+bwd", 14, options, R"(, "backward": true)"), both);
}

}  // namespace

void bench_attention(Kernels& kernels, const Options& options) {
    for (const Shape& shape : shapes(options))
        bench_shape(kernels, shape, options);
}

}  // namespace rm::bench
