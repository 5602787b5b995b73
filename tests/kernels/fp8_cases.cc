#include <cmath>

#include "tests/kernels/op_cases.h"

namespace rm::test {
namespace {

struct Quantized {
    Fp8Matrix rows, columns;
};

Quantized quantized(Harness& h, const TensorView& x, Fp8 format) {
    const std::int64_t T = x.dim(0), C = x.dim(1);
    const Quantized to{h.codes(T, C, format), h.codes(C, padded_tokens(T), format)};
    h.kernels().run(Quantize{x, to.rows, to.columns, h.output(Role::f32, {1})}, h.stream());
    return to;
}

// The numbers of a weight are of the compute type, so that every implementation rounds the same.
void fp8_linear(Harness& h, std::int64_t T, std::int64_t N, std::int64_t K, Into into,
                Fp8 gradients) {
    const double deviation = 1 / std::sqrt(static_cast<double>(K));
    const PreparedWeight& weight =
        h.prepared(h.input(Role::compute, {N, K}, deviation), WeightForm::fp8);
    const Quantized x = quantized(h, h.input(Role::compute, {T, K}), Fp8::e4m3);
    const Quantized d_y = quantized(h, h.input(Role::compute, {T, N}), gradients);
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
        {"fp8_linear_blocks",
         [](Harness& h) { fp8_linear(h, 280, 144, 1040, Into::overwrite, e5m2); }},
    };
}

}  // namespace rm::test
