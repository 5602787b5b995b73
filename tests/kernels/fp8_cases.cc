#include <cmath>

#include "tests/kernels/op_cases.h"

namespace rm::test {
namespace {

struct Quantized {
    Fp8Matrix rows, columns;
};

Quantized quantized(Harness& h, const TensorView& x, Fp8 format, Scaling scaling) {
    const std::int64_t T = x.dim(0), C = x.dim(1);
    const auto codes = [&](std::int64_t rows, std::int64_t columns) {
        return scaling == Scaling::blocks ? h.block_codes(rows, columns, format)
                                          : h.codes(rows, columns, format);
    };
    const Quantized to{codes(T, C), codes(C, padded_tokens(T))};
    h.kernels().run(Quantize{x, to.rows, to.columns, h.output(Role::f32, {1}), scaling},
                    h.stream());
    return to;
}

// The numbers of a weight are of the compute type, so that every implementation rounds the same.
void fp8_linear(Harness& h, std::int64_t T, std::int64_t N, std::int64_t K, Into into,
                Fp8 gradients, Scaling scaling = Scaling::current) {
    const double deviation = 1 / std::sqrt(static_cast<double>(K));
    const TensorView master = h.input(Role::compute, {N, K}, deviation);
    const Quantized x = quantized(h, h.input(Role::compute, {T, K}), Fp8::e4m3, scaling);
    const Quantized d_y = quantized(h, h.input(Role::compute, {T, N}), gradients, scaling);
    const PreparedWeight& weight = h.prepared(master, fp8_form(x.rows));
    const bool adds = into == Into::add;
    const TensorView y = adds ? h.input(Role::compute, {T, N}) : h.output(Role::compute, {T, N});
    const TensorView d_x = adds ? h.input(Role::compute, {T, K}) : h.output(Role::compute, {T, K});
    const TensorView d_weight = h.input(Role::accum, {N, K});
    const Fp8LinearFwd fwd{.x = x.rows, .weight = &weight, .y = y, .into = into};
    h.kernels().run(fwd, h.workspace(fwd), h.stream());
    const Fp8LinearBwdInput bwd_input{.d_y = d_y.rows, .weight = &weight, .d_x = d_x, .into = into};
    h.kernels().run(bwd_input, h.workspace(bwd_input), h.stream());
    const Fp8LinearBwdWeight bwd_weight{.d_y = d_y.columns, .x = x.columns, .d_weight = d_weight};
    h.kernels().run(bwd_weight, h.workspace(bwd_weight), h.stream());
    h.keep("x codes", x.rows.codes);
    h.keep("x codes turned", x.columns.codes);
    h.keep("d_y codes", d_y.rows.codes);
    h.keep("d_y codes turned", d_y.columns.codes);
    h.keep("y", y);
    h.keep("d_x", d_x);
    h.keep("d_weight", d_weight);
}

// Two tensors under the scale of a third one, too small for some numbers and too coarse for others.
void quantize_with_a_given_scale(Harness& h, Fp8 format) {
    constexpr std::int64_t T = 70, C = 144;
    const Fp8Matrix rows = h.codes(T, C, format), columns = h.codes(C, padded_tokens(T), format);
    const TensorView amax = h.output(Role::f32, {1}), largest = h.filled(Role::f32, {1}, 0);
    h.kernels().run(
        Quantize{h.input(Role::compute, {T, C}), rows, columns, amax, Scaling::current, largest},
        h.stream());
    for (const double size : {1e-4, 2.0}) {
        h.kernels().run(Quantize{h.input(Role::compute, {T, C}, size), rows, columns, amax,
                                 Scaling::given, largest},
                        h.stream());
    }
    h.keep("codes", rows.codes);
    h.keep("codes turned", columns.codes);
}

// A weight that two ranks round in parts, under the scale of both, and what it multiplies.
void fp8_weight_in_parts(Harness& h, std::int64_t T, std::int64_t N, std::int64_t K) {
    const TensorView weight = h.input(Role::compute, {N, K}, 0.3);
    const TensorView maxima = h.filled(Role::f32, {2, 3}, 0), scales = h.output(Role::f32, {3});
    const Fp8Matrix codes = h.codes(N, K, Fp8::e4m3);
    const std::int64_t first = N / 16 * 16 / 4;
    const auto part_of = [&](int rank, const TensorView& of) {
        return rank == 0 ? of.rows(0, first) : of.rows(first, N - first);
    };
    const auto quantize = [&](int rank, const TensorView& scale, Scaling scaling) {
        const TensorView amax = maxima.reshaped({6}).rows(3 * rank + 1, 1);
        const Fp8Matrix to{part_of(rank, codes.codes), scale, Fp8::e4m3};
        h.kernels().run(Quantize{part_of(rank, weight), to, {}, amax, scaling}, h.stream());
    };
    for (const int rank : {0, 1})
        quantize(rank, codes.scale, Scaling::current);
    h.kernels().run(Fp8Scales{maxima, scales}, h.stream());
    const TensorView scale = scales.rows(1, 1);
    for (const int rank : {0, 1})
        quantize(rank, scale, Scaling::given);
    const PreparedWeight& prepared = h.prepared({codes.codes, scale, Fp8::e4m3});
    const Fp8Matrix x =
        quantized(h, h.input(Role::compute, {T, K}), Fp8::e4m3, Scaling::current).rows;
    const Fp8Matrix d_y =
        quantized(h, h.input(Role::compute, {T, N}), Fp8::e5m2, Scaling::current).rows;
    const TensorView y = h.output(Role::compute, {T, N}), d_x = h.output(Role::compute, {T, K});
    const Fp8LinearFwd fwd{.x = x, .weight = &prepared, .y = y};
    h.kernels().run(fwd, h.workspace(fwd), h.stream());
    const Fp8LinearBwdInput bwd_input{.d_y = d_y, .weight = &prepared, .d_x = d_x};
    h.kernels().run(bwd_input, h.workspace(bwd_input), h.stream());
    h.keep("codes", codes.codes);
    h.keep("y", y);
    h.keep("d_x", d_x);
}

}  // namespace

std::vector<OpCase> fp8_cases() {
    constexpr Fp8 e4m3 = Fp8::e4m3, e5m2 = Fp8::e5m2;
    return {
        {"quantize_given_e4m3", [](Harness& h) { quantize_with_a_given_scale(h, e4m3); }},
        {"quantize_given_e5m2", [](Harness& h) { quantize_with_a_given_scale(h, e5m2); }},
        {"fp8_linear", [](Harness& h) { fp8_linear(h, 64, 48, 80, Into::overwrite, e5m2); }},
        {"fp8_linear_added", [](Harness& h) { fp8_linear(h, 67, 128, 96, Into::add, e4m3); }},
        {"fp8_linear_few_tokens",
         [](Harness& h) { fp8_linear(h, 3, 256, 288, Into::overwrite, e4m3); }},
        {"fp8_linear_one_token", [](Harness& h) { fp8_linear(h, 1, 304, 256, Into::add, e5m2); }},
        {"fp8_linear_of_several_tiles",
         [](Harness& h) { fp8_linear(h, 280, 144, 1040, Into::overwrite, e5m2); }},
        {"fp8_weight_in_parts", [](Harness& h) { fp8_weight_in_parts(h, 40, 160, 144); }},
        {"fp8_blocks",
         [](Harness& h) { fp8_linear(h, 64, 48, 80, Into::overwrite, e5m2, Scaling::blocks); }},
        {"fp8_blocks_added",
         [](Harness& h) { fp8_linear(h, 67, 128, 144, Into::add, e4m3, Scaling::blocks); }},
        {"fp8_blocks_one_token",
         [](Harness& h) { fp8_linear(h, 1, 304, 256, Into::add, e5m2, Scaling::blocks); }},
        {"fp8_blocks_several",
         [](Harness& h) { fp8_linear(h, 280, 144, 528, Into::overwrite, e4m3, Scaling::blocks); }},
    };
}

}  // namespace rm::test
