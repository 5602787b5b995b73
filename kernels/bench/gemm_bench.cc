#include "kernels/bench/bench.h"

namespace rm::bench {
namespace {

struct Shape {
    std::int64_t T, N, K;
};

void bench_shape(Kernels& kernels, const Shape& shape, int repeats, std::vector<Row>& rows) {
    const auto [T, N, K] = shape;
    Bench bench(kernels, repeats);
    const PreparedWeight& weight = bench.weight(N, K);
    const TensorView x = bench.tensor({T, K}), d_y = bench.tensor({T, N});
    const TensorView y = bench.tensor({T, N}), d_x = bench.tensor({T, K});
    const TensorView d_weight = bench.tensor({N, K});
    const auto add = [&](std::string_view name, double seconds) {
        const std::string full = format("{} T {} N {} K {}", name, shape.T, shape.N, shape.K);
        rows.push_back({full, 2.0 * static_cast<double>(shape.T * shape.N * shape.K), seconds});
    };

    const LinearFwd fwd{.x = x, .weight = &weight, .y = y};
    const Workspace fwd_space = bench.workspace(fwd);
    add("linear_fwd",
        bench.seconds_of([&](Stream& stream) { kernels.linear_fwd(fwd, fwd_space, stream); }));

    const LinearBwdInput bwd_input{.d_y = d_y, .weight = &weight, .d_x = d_x};
    const Workspace input_space = bench.workspace(bwd_input);
    add("linear_bwd_input", bench.seconds_of([&](Stream& stream) {
        kernels.linear_bwd_input(bwd_input, input_space, stream);
    }));

    const LinearBwdWeight bwd_weight{.d_y = d_y, .x = x, .d_weight = d_weight};
    const Workspace weight_space = bench.workspace(bwd_weight);
    add("linear_bwd_weight", bench.seconds_of([&](Stream& stream) {
        kernels.linear_bwd_weight(bwd_weight, weight_space, stream);
    }));
}

}  // namespace

std::vector<Row> bench_gemm(Kernels& kernels, const Options& options) {
    std::vector<Row> rows;
    for (const Shape& shape : {Shape{512, 256, 256}, Shape{512, 704, 256}, Shape{512, 512, 512},
                               Shape{512, 1536, 512}, Shape{2048, 2048, 2048}}) {
        bench_shape(kernels, shape, options.repeats, rows);
    }
    return rows;
}

}  // namespace rm::bench
