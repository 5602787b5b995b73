#include "bench/bench.h"
#include "kernels/device_library.h"

namespace rm::bench {
namespace {

struct Shape {
    std::int64_t T, N, K;
};

// The linear layers of the 8B model over one tile of a GPU.
const std::vector<Shape> kGpuShapes = {
    {8192, 14336, 4096}, {8192, 4096, 14336}, {8192, 4096, 4096}, {8192, 1024, 4096}};

void bench_shape(Kernels& kernels, const Shape& shape, const Options& options) {
    const std::int64_t T = shape.T, N = shape.N, K = shape.K;
    Bench bench(kernels, options);
    const PreparedWeight& weight = bench.weight(N, K);
    const TensorView x = bench.compute({T, K}), d_y = bench.compute({T, N});
    const auto measure = [&](std::string_view name, std::vector<Contender> contenders,
                             const std::function<void(Stream&)>& queue) {
        bench.measure(
            {.name = format("{} T {} N {} K {}", name, T, N, K),
             .flops = 2.0 * static_cast<double>(T * N * K),
             .torch = format(R"({{"work": "{}", "T": {}, "N": {}, "K": {}, "dtype": "{}"}})", name,
                             T, N, K, to_string(options.compute)),
             .contenders = std::move(contenders)},
            queue);
    };
    const auto product = [&](std::int64_t to, std::int64_t from) {
        return options.on_gpu ? std::vector<Contender>() : onednn_product(T, to, from, options);
    };

    const LinearFwd fwd{.x = x, .weight = &weight, .y = bench.compute({T, N})};
    const Workspace fwd_space = bench.workspace(fwd);
    measure("linear_fwd", product(N, K), [&](Stream& s) { kernels.run(fwd, fwd_space, s); });

    const LinearBwdInput bwd_input{.d_y = d_y, .weight = &weight, .d_x = bench.compute({T, K})};
    const Workspace input_space = bench.workspace(bwd_input);
    measure("linear_bwd_input", product(K, N),
            [&](Stream& s) { kernels.run(bwd_input, input_space, s); });

    const LinearBwdWeight bwd_weight{.d_y = d_y, .x = x, .d_weight = bench.tensor({N, K})};
    const Workspace weight_space = bench.workspace(bwd_weight);
    measure("linear_bwd_weight",
            options.on_gpu ? std::vector<Contender>() : onednn_weight_gradient(T, N, K, options),
            [&](Stream& s) { kernels.run(bwd_weight, weight_space, s); });
}

}  // namespace

// Our FP8 product with its casts beside our bf16 one, in turns.
void bench_fp8(Kernels& kernels, const Options& options) {
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
                kernels.run(wide, space, *stream);
            stream->synchronize();
            return (now(options) - start) / kTimes;
        };
        const double flops = 2.0 * static_cast<double>(T * N * K);
        bench.measure({.name = format("fp8_linear_fwd T {} N {} K {}", T, N, K),
                       .flops = flops,
                       .contenders = {{.name = "own bf16", .run_once = bf16}}},
                      [&](Stream& s) { (*linear)->forward(x, y, s); });
    }
}

void bench_gemm(Kernels& kernels, const Options& options) {
    const std::vector<Shape> cpu_shapes = {{512, 256, 256},   {512, 512, 512},   {2048, 512, 512},
                                           {2048, 1536, 512}, {2048, 512, 1536}, {1024, 8192, 512},
                                           {2048, 2048, 2048}};
    for (const Shape& shape : options.on_gpu ? kGpuShapes : cpu_shapes)
        bench_shape(kernels, shape, options);
}

}  // namespace rm::bench
