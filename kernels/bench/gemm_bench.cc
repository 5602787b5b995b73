#include <iterator>

#include "kernels/bench/bench.h"
#include "kernels/bench/onednn_loop.h"
#include "kernels/cuda/load.h"

namespace rm::bench {
namespace {

struct Shape {
    std::int64_t T, N, K;
};

// The linear layers of the 8B model over one tile of a GPU.
constexpr Shape kGpuShapes[] = {
    {8192, 14336, 4096}, {8192, 4096, 14336}, {8192, 4096, 4096}, {8192, 1024, 4096}};

void bench_shape(Kernels& kernels, const Shape& shape, const Options& options,
                 std::vector<Row>& rows) {
    const auto [T, N, K] = shape;
    const auto on_cpu = [&](auto contender) {
        return options.on_gpu ? std::vector<Contender>() : contender();
    };
    Bench bench(kernels, options);
    const PreparedWeight& weight = bench.weight(N, K);
    const TensorView x = bench.compute({T, K}), d_y = bench.compute({T, N});
    const TensorView y = bench.compute({T, N}), d_x = bench.compute({T, K});
    const TensorView d_weight = bench.tensor({N, K});
    const auto work = [&](std::string_view name, std::vector<Contender> contenders) {
        return Work{.name = format("{} T {} N {} K {}", name, shape.T, shape.N, shape.K),
                    .flops = 2.0 * static_cast<double>(shape.T * shape.N * shape.K),
                    .torch = format(R"({{"work": "{}", "T": {}, "N": {}, "K": {}, "dtype": "{}"}})",
                                    name, shape.T, shape.N, shape.K, to_string(options.compute)),
                    .contenders = std::move(contenders)};
    };

    const LinearFwd fwd{.x = x, .weight = &weight, .y = y};
    const Workspace fwd_space = bench.workspace(fwd);
    rows.push_back(bench.measure(
        work("linear_fwd",
             on_cpu([&, T = T, N = N, K = K] { return onednn_product(T, N, K, options); })),
        [&](Stream& stream) { kernels.linear_fwd(fwd, fwd_space, stream); }));

    const LinearBwdInput bwd_input{.d_y = d_y, .weight = &weight, .d_x = d_x};
    const Workspace input_space = bench.workspace(bwd_input);
    rows.push_back(bench.measure(
        work("linear_bwd_input",
             on_cpu([&, T = T, N = N, K = K] { return onednn_product(T, K, N, options); })),
        [&](Stream& s) { kernels.linear_bwd_input(bwd_input, input_space, s); }));

    const LinearBwdWeight bwd_weight{.d_y = d_y, .x = x, .d_weight = d_weight};
    const Workspace weight_space = bench.workspace(bwd_weight);
    rows.push_back(bench.measure(
        work("linear_bwd_weight",
             on_cpu([&, T = T, N = N, K = K] { return onednn_weight_gradient(T, N, K, options); })),
        [&](Stream& stream) { kernels.linear_bwd_weight(bwd_weight, weight_space, stream); }));
}

}  // namespace

// Our FP8 product with its casts beside our bf16 one, in turns.
std::vector<Row> bench_fp8(Kernels& kernels, const Options& options) {
    std::vector<Row> rows;
    for (const auto& [T, N, K] : kGpuShapes) {
        Bench bench(kernels, options);
        auto linear = load_cuda_fp8_linear(kernels, {.T = T, .N = N, .K = K});
        RM_CHECK(linear.ok(), "{}", linear.ok() ? "" : linear.error().message);
        const TensorView x = bench.compute({T, K}), y = bench.compute({T, N});
        const auto stream = kernels.device().make_stream("bf16");
        (*linear)->prepare(bench.tensor({N, K}), *stream);
        stream->synchronize();
        const LinearFwd wide{.x = x, .weight = &bench.weight(N, K), .y = y};
        const Workspace space = bench.workspace(wide);
        const auto bf16 = [&] {
            constexpr int kTimes = 10;
            const double start = now(options);
            for (int i = 0; i < kTimes; ++i)
                kernels.linear_fwd(wide, space, *stream);
            stream->synchronize();
            return (now(options) - start) / kTimes;
        };
        const double flops = 2.0 * static_cast<double>(T * N * K);
        rows.push_back(bench.measure({.name = format("fp8_linear_fwd T {} N {} K {}", T, N, K),
                                      .flops = flops,
                                      .contenders = {{.name = "own bf16", .run_once = bf16}}},
                                     [&](Stream& s) { (*linear)->forward(x, y, s); }));
    }
    return rows;
}

std::vector<Row> bench_gemm(Kernels& kernels, const Options& options) {
    std::vector<Row> rows;
    const std::vector<Shape> cpu_shapes = {Shape{512, 256, 256},   Shape{512, 512, 512},
                                           Shape{2048, 512, 512},  Shape{2048, 1536, 512},
                                           Shape{2048, 512, 1536}, Shape{1024, 8192, 512},
                                           Shape{2048, 2048, 2048}};
    for (const Shape& shape : options.on_gpu
                                  ? std::vector<Shape>(std::begin(kGpuShapes), std::end(kGpuShapes))
                                  : cpu_shapes) {
        bench_shape(kernels, shape, options, rows);
    }
    return rows;
}

}  // namespace rm::bench
