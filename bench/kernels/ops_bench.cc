#include <cmath>

#include "bench/bench.h"

namespace rm::bench {
namespace {

constexpr std::int64_t T = 4096, C = 2048, H = 16, D = 128;
constexpr std::int64_t kHidden = 512, kVocabulary = 8192;  // of the embedding and the head
constexpr std::int64_t kParameters = 16 << 20;

struct Ops {
    Kernels& kernels;
    const Options& options;

    double element() const { return static_cast<double>(size_of(options.compute)); }
    // `sizes` are the further members of the peer's JSON.
    std::string torch(std::string_view name, std::string_view sizes) const {
        return format(R"({{"work": "{}", "dtype": "{}", {}}})", name, to_string(options.compute),
                      sizes);
    }
};

// Rows whose GB/s are to be read beside the first: a copy, which is what memory can do.
void elements(const Ops& ops) {
    Bench bench(ops.kernels, ops.options);
    const double size = static_cast<double>(T * C);
    const TensorView x = bench.compute({T, C}), y = bench.compute({T, C});
    const TensorView wide = bench.tensor({T, C}), other = bench.tensor({T, C});

    bench.measure({.name = "copy f32 to f32", .bytes = 8 * size},
                  [&](Stream& s) { ops.kernels.run(Copy{.from = wide, .to = other}, s); });
    const std::string type(to_string(ops.options.compute));

    bench.measure({.name = "copy f32 to " + type, .bytes = (4 + ops.element()) * size},
                  [&](Stream& s) { ops.kernels.run(Copy{.from = wide, .to = x}, s); });

    bench.measure({.name = "copy " + type + " to f32", .bytes = (4 + ops.element()) * size},
                  [&](Stream& s) { ops.kernels.run(Copy{.from = x, .to = wide}, s); });
    bench.measure({.name = "add",
                   .bytes = 3 * ops.element() * size,
                   .torch = ops.torch("add", format(R"("size": {})", T * C))},
                  [&](Stream& s) { ops.kernels.run(Add{.x = x, .y = y}, s); });
}

void norms(const Ops& ops) {
    Bench bench(ops.kernels, ops.options);
    const double bytes = ops.element() * static_cast<double>(T * C);
    const RmsNormFwd fwd{.x = bench.compute({T, C}),
                         .weight = bench.tensor({C}),
                         .y = bench.compute({T, C}),
                         .rstd = bench.tensor({T})};
    const RmsNormBwd bwd{.d_y = bench.compute({T, C}),
                         .x = fwd.x,
                         .weight = fwd.weight,
                         .rstd = fwd.rstd,
                         .d_x = bench.compute({T, C}),
                         .d_weight = bench.tensor({C})};
    const Workspace space = bench.workspace(bwd);
    const std::string sizes = format(R"("T": {}, "C": {})", T, C);
    bench.measure({.name = "rmsnorm_fwd", .bytes = 2 * bytes, .torch = ops.torch("rmsnorm", sizes)},
                  [&](Stream& s) { ops.kernels.run(fwd, s); });

    bench.measure({.name = "rmsnorm_fwd+bwd",
                   .bytes = 6 * bytes,
                   .torch = ops.torch("rmsnorm", sizes + R"(, "backward": true)")},
                  [&](Stream& s) {
                      ops.kernels.run(fwd, s);
                      ops.kernels.run(bwd, space, s);
                  });
}

void swiglu(const Ops& ops) {
    Bench bench(ops.kernels, ops.options);
    const double bytes = ops.element() * static_cast<double>(T * C);
    const SwigluFwd fwd{
        .gate = bench.compute({T, C}), .up = bench.compute({T, C}), .h = bench.compute({T, C})};
    const SwigluBwd bwd{.d_h = fwd.h,
                        .gate = fwd.gate,
                        .up = fwd.up,
                        .d_gate = bench.compute({T, C}),
                        .d_up = bench.compute({T, C})};
    const std::string sizes = format(R"("T": {}, "F": {})", T, C);
    bench.measure({.name = "swiglu_fwd", .bytes = 3 * bytes, .torch = ops.torch("swiglu", sizes)},
                  [&](Stream& s) { ops.kernels.run(fwd, s); });

    bench.measure({.name = "swiglu_fwd+bwd",
                   .bytes = 8 * bytes,
                   .torch = ops.torch("swiglu", sizes + R"(, "backward": true)")},
                  [&](Stream& s) {
                      ops.kernels.run(fwd, s);
                      ops.kernels.run(bwd, s);
                  });
}

void rope(const Ops& ops) {
    Bench bench(ops.kernels, ops.options);
    const RopeApply apply{.x = bench.compute({T, H, D}),
                          .cos = bench.tensor({T, D / 2}),
                          .sin = bench.tensor({T, D / 2})};

    bench.measure({.name = "rope_apply",
                   .bytes = 2 * ops.element() * static_cast<double>(T * H * D),
                   .torch = ops.torch("rope", format(R"("T": {}, "H": {}, "D": {})", T, H, D))},
                  [&](Stream& s) { ops.kernels.run(apply, s); });
}

void packing(const Ops& ops) {
    Bench bench(ops.kernels, ops.options);
    const TensorView x = bench.compute({T, C});
    const Tensor packed(ops.kernels.device(), MemoryKind::activations, DType::i32,
                        {T, packed_words(C)});
    const double bytes = (ops.element() + 1) * static_cast<double>(T * C);
    bench.measure({.name = "pack_rows", .bytes = bytes}, [&](Stream& s) {
        ops.kernels.run(PackRows{x, packed}, s);
    });
    bench.measure({.name = "unpack_rows", .bytes = bytes}, [&](Stream& s) {
        ops.kernels.run(UnpackRows{packed, x}, s);
    });
}

void embedding_and_loss(const Ops& ops) {
    Bench bench(ops.kernels, ops.options);
    const TensorView tokens = bench.tokens(T, kVocabulary), x = bench.compute({T, kHidden});
    const TensorView table = bench.tensor({kVocabulary, kHidden});
    const double size = static_cast<double>(T * kHidden);
    bench.measure({.name = "embedding_fwd", .bytes = (4 + ops.element()) * size}, [&](Stream& s) {
        ops.kernels.run(EmbeddingFwd{.tokens = tokens, .table = table, .x = x}, s);
    });
    bench.measure({.name = "embedding_bwd", .bytes = (8 + ops.element()) * size}, [&](Stream& s) {
        ops.kernels.run(EmbeddingBwd{.tokens = tokens, .d_x = x, .d_table = table}, s);
    });
    const LinearCrossEntropy loss{.x = x,
                                  .head = &bench.weight(kVocabulary, kHidden),
                                  .targets = tokens,
                                  .scale = 1.0 / T,
                                  .losses = bench.scalars(std::vector<double>(T)),
                                  .loss_sum = bench.scalars({0}),
                                  .d_x = bench.compute({T, kHidden}),
                                  .d_head = bench.tensor({kVocabulary, kHidden})};
    const Workspace space = bench.workspace(loss);
    const std::string sizes = format(R"("T": {}, "C": {}, "V": {})", T, kHidden, kVocabulary);

    bench.measure({.name = format("cross_entropy T {} C {} V {}", T, kHidden, kVocabulary),
                   .flops = 6 * size * kVocabulary,
                   .torch = ops.torch("cross_entropy", sizes)},
                  [&](Stream& s) { ops.kernels.run(loss, space, s); });
}

void update(const Ops& ops) {
    Bench bench(ops.kernels, ops.options);
    constexpr std::int64_t kSide = 4096;
    const TensorView weight = bench.tensor({kParameters}), grad = bench.tensor({kParameters});
    const TensorView clip = bench.scalars({0, 1, 1});  // neither clips nor skips
    const TensorView v = bench.positive({kParameters});
    const AdamW adamw{.weight = weight,
                      .grad = grad,
                      .m = bench.tensor({kParameters}),
                      .v = v,
                      .clip = clip,
                      .learning_rate = 1e-3,
                      .weight_decay = 0.01};

    bench.measure({.name = "adamw",
                   .bytes = 28.0 * kParameters,
                   .torch = ops.torch("adamw", format(R"("size": {})", kParameters))},
                  [&](Stream& s) { ops.kernels.run(adamw, s); });
    const SumSquares squares{.x = grad, .sum = clip.rows(0, 1)};
    const Workspace space = bench.workspace(squares);

    bench.measure({.name = "sum_squares", .bytes = 4.0 * kParameters},
                  [&](Stream& s) { ops.kernels.run(squares, space, s); });
    const auto prepared =
        ops.kernels.make_prepared(kParameters / kSide, kSide, WeightForm::compute);
    const TensorView matrix = weight.reshaped({kParameters / kSide, kSide});

    bench.measure({.name = "prepare", .bytes = (8 + 2 * ops.element()) * kParameters},
                  [&](Stream& s) { ops.kernels.prepare(matrix, *prepared, s); });
}

}  // namespace

void bench_ops(Kernels& kernels, const Options& options) {
    const Ops ops{kernels, options};
    elements(ops);
    norms(ops);
    swiglu(ops);
    rope(ops);
    packing(ops);
    embedding_and_loss(ops);
    update(ops);
}

}  // namespace rm::bench
