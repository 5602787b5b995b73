#include "bench/bench.h"

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

namespace {

// The linear layer of one shape in FP8, and the same in the compute type.
struct Fp8Pair {
    Fp8Pair(Bench& bench, const Shape& shape, Scaling scaling)
        : fp8(&bench.weight(shape.N, shape.K,
                            scaling == Scaling::blocks ? WeightForm::fp8_blocks : WeightForm::fp8)),
          wide(&bench.weight(shape.N, shape.K)),
          x(bench.compute({shape.T, shape.K})),
          d_y(bench.compute({shape.T, shape.N})),
          y(bench.compute({shape.T, shape.N})),
          d_x(bench.compute({shape.T, shape.K})),
          d_w(bench.zeros(DType::f32, {shape.N, shape.K})),
          round_x(quantize(bench, x, scaling)),
          round_d_y(quantize(bench, d_y, scaling)) {}

    static Quantize quantize(Bench& bench, const TensorView& x, Scaling scaling) {
        const auto codes = [&](std::int64_t rows, std::int64_t columns) {
            const TensorView to = bench.zeros(DType::u8, {rows, columns});
            if (scaling == Scaling::current) return Fp8Matrix{to, bench.zeros(DType::f32, {1})};
            return Fp8Matrix{to, bench.zeros(DType::f32, {rows, fp8_blocks(columns)})};
        };
        const std::int64_t T = x.dim(0), C = x.dim(1);
        return {x, codes(T, C), codes(C, padded_tokens(T)), bench.zeros(DType::f32, {1}), scaling};
    }

    const PreparedWeight *fp8, *wide;
    TensorView x, d_y, y, d_x, d_w;
    Quantize round_x, round_d_y;
};

// `queue` in turns with `queue_wide`.
void bench_beside(Bench& bench, Kernels& kernels, const Options& options, const Work& work,
                  const std::function<void(Stream&)>& queue,
                  const std::function<void(Stream&)>& queue_wide) {
    const auto stream = kernels.device().make_stream("wide");
    const auto once = [&] {
        constexpr int kTimes = 10;
        const double start = now(options);
        for (int i = 0; i < kTimes; ++i)
            queue_wide(*stream);
        stream->synchronize();
        return (now(options) - start) / kTimes;
    };
    Work both = work;
    both.contenders = {{.name = format("own {}", to_string(options.compute)), .run_once = once}};
    bench.measure(both, queue);
}

template <typename Op>
std::function<void(Stream&)> queued(Bench& bench, Kernels& kernels, const Op& op) {
    const Workspace space = bench.workspace(op);
    return [&kernels, op, space](Stream& s) { kernels.run(op, space, s); };
}

// With the casts; backward, d_y is rounded once for both products.
void bench_fp8_shape(Kernels& kernels, const Shape& shape, const Options& options,
                     Scaling scaling) {
    Bench bench(kernels, options);
    const Fp8Pair pair(bench, shape, scaling);
    const std::string_view kind = scaling == Scaling::blocks ? "fp8 blocks" : "fp8";
    const auto work = [&](std::string_view name, double products) {
        const double flops = products * 2.0 * static_cast<double>(shape.T * shape.N * shape.K);
        return Work{.name = format("{} {} T {} N {} K {}", kind, name, shape.T, shape.N, shape.K),
                    .flops = flops};
    };
    const auto fwd = queued(bench, kernels, Fp8LinearFwd{pair.round_x.rows, pair.fp8, pair.y});
    const auto to_fp8_and_fwd = [&](Stream& s) {
        kernels.run(pair.round_x, s);
        fwd(s);
    };
    bench_beside(bench, kernels, options, work("forward", 1), to_fp8_and_fwd,
                 queued(bench, kernels, LinearFwd{pair.x, pair.wide, pair.y}));
    const auto input =
        queued(bench, kernels, Fp8LinearBwdInput{pair.round_d_y.rows, pair.fp8, pair.d_x});
    const auto weight = queued(
        bench, kernels, Fp8LinearBwdWeight{pair.round_d_y.columns, pair.round_x.columns, pair.d_w});
    const auto wide_input = queued(bench, kernels, LinearBwdInput{pair.d_y, pair.wide, pair.d_x});
    const auto wide_weight = queued(bench, kernels, LinearBwdWeight{pair.d_y, pair.x, pair.d_w});
    bench_beside(
        bench, kernels, options, work("backward", 2),
        [&](Stream& s) {
            kernels.run(pair.round_d_y, s);
            input(s);
            weight(s);
        },
        [&](Stream& s) {
            wide_input(s);
            wide_weight(s);
        });
}

const std::vector<Shape>& shapes_of(const Options& options) {
    static const std::vector<Shape> kCpuShapes = {
        {512, 256, 256},   {512, 512, 512},   {2048, 512, 512},  {2048, 1536, 512},
        {2048, 512, 1536}, {1024, 8192, 512}, {2048, 2048, 2048}};
    return options.on_gpu ? kGpuShapes : kCpuShapes;
}

}  // namespace

void bench_fp8(Kernels& kernels, const Options& options) {
    for (const Shape& shape : shapes_of(options)) {
        for (const Scaling scaling : {Scaling::current, Scaling::blocks})
            bench_fp8_shape(kernels, shape, options, scaling);
    }
}

void bench_gemm(Kernels& kernels, const Options& options) {
    for (const Shape& shape : shapes_of(options))
        bench_shape(kernels, shape, options);
}

}  // namespace rm::bench
