#pragma once

#include <array>
#include <bit>

#include "kernels/fp8.h"
#include "kernels/ops/operands.h"

// Linear layers on operands rounded to FP8, with a scale for each tensor or for each block: a power
// of two, so that only the codes round (kernels/fp8.h). Products sum along the codes' rows, the one
// layout that GPUs multiply (sm_89: cuBLASLt, TN), so an operand of the product that sums over
// tokens is needed turned around, with columns P: T rounded up to a multiple of 16, zeros behind T.
// Columns C, N and K are multiples of 16. Micikevicius et al., FP8 Formats for Deep Learning, 2022.
//
// Blocks lie along the sum: 1 x 128 numbers of an activation or a gradient, 128 x 128 of a weight
// (DeepSeek-V3 Technical Report, 2024). A large number then coarsens only the numbers of its block.
namespace rm {

constexpr std::int64_t kFp8Align = 16;
constexpr std::int64_t padded_tokens(std::int64_t T) {
    return (T + kFp8Align - 1) / kFp8Align * kFp8Align;
}

constexpr std::int64_t kFp8Block = 128;
constexpr std::int64_t fp8_blocks(std::int64_t count) {
    return (count + kFp8Block - 1) / kFp8Block;
}

// A matrix in FP8: element = code * scale.
struct Fp8Matrix {
    TensorView codes;  // (rows, columns) u8
    TensorView scale;  // f32: (1), at a multiple of 16 bytes for products, or one a block
    Fp8 format = Fp8::e4m3;

    bool empty() const { return codes.rank() == 0; }
    bool blocks() const { return scale.rank() == 2; }
    // For machines whose memory the host may touch.
    float scale_at(std::int64_t row, std::int64_t column) const {
        if (!blocks()) return *scale.as<float>();
        return scale.as<float>()[row * scale.dim(1) + column / kFp8Block];
    }
};

inline void check_fp8_columns(std::string_view op, std::int64_t columns) {
    RM_CHECK(columns % kFp8Align == 0, "{}: {} columns; FP8 takes multiples of {}", op, columns,
             kFp8Align);
}
inline void fp8_scale_operand(Operands& all, const Fp8Matrix& matrix, std::string_view name) {
    const TensorView& codes = matrix.codes;
    if (!matrix.blocks()) return void(all.floats<"1">(matrix.scale, name));
    RM_CHECK(codes.rank() == 2, "{}: scales of blocks for codes {}", name, shape_string(codes));
    all.floats(matrix.scale, name, codes.dim(0), fp8_blocks(codes.dim(1)));
}
template <DimNames names>
void fp8_operand(Operands& all, const Fp8Matrix& matrix, std::string_view name) {
    all.template codes<names>(matrix.codes, name);
    fp8_scale_operand(all, matrix, name);
}

// All operands of a product have scales of one kind.
inline WeightForm fp8_form(const Fp8Matrix& matrix) {
    return matrix.blocks() ? WeightForm::fp8_blocks : WeightForm::fp8;
}
inline void check_fp8_forms(std::string_view op, std::string_view name, const Fp8Matrix& matrix,
                            std::string_view other, WeightForm form) {
    RM_CHECK(form == fp8_form(matrix), "{}: {} is in {}, {} in {}; a product takes one kind", op,
             name, to_string(fp8_form(matrix)), other, to_string(form));
}
inline void check_fp8_weight(std::string_view op, std::string_view name, const Fp8Matrix& matrix,
                             const PreparedWeight* weight) {
    if (weight != nullptr) check_fp8_forms(op, name, matrix, "the weight", weight->form());
}

// current: a scale for the tensor's own largest number; given: the one that is there, which another
// tensor had (delayed scaling), so that numbers may be too large for it; blocks: a scale for each
// block's own largest number.
enum class Scaling { current, given, blocks };

// The effect of rounding on the numbers of tensors: counts, exact as long as they are below 2^53,
// and sums for their relative error, whose last bits depend on the order.
struct Fp8Effect {
    double nonzero = 0;        // finite numbers other than 0
    double flushed = 0;        // those that became 0
    double saturated = 0;      // those that were too large for their scale
    double nonfinite = 0;      // NaNs and infinities
    double squares = 0;        // of finite numbers from 2^-60 to 2^48 times their scale, or as if
    double squared_error = 0;  // of what they became
};
constexpr std::int64_t kFp8EffectNumbers = sizeof(Fp8Effect) / sizeof(double);
using Fp8EffectNumbers = std::array<double, kFp8EffectNumbers>;  // as they lie in tensors

// Rounds a tensor, once for all products that take it. Either orientation may be left out; both
// have the same format. To nearest, ties to even; what is too large, infinities too, becomes the
// largest number, NaN stays NaN.
//
// Both orientations have the same scale and codes, except with Scaling::blocks: a block of `rows`
// is 128 neighbours of a token, one of `columns` 128 tokens of a column, counted from the tensor's
// first. Each orientation then has scales and codes of its own.
struct Quantize {
    TensorView x;
    Fp8Matrix rows;     // (T, C), or empty
    Fp8Matrix columns;  // (C, P), or empty
    TensorView amax;    // (1) f32: the largest size in x; NaNs are left out
    Scaling scaling = Scaling::current;
    TensorView largest = {};  // (1) f32: becomes amax if that is larger; or empty
    // (kFp8EffectNumbers) f64: the Fp8Effect of `rows`, which there must be, is added; or empty.
    TensorView effect = {};

    static constexpr std::string_view kName = "quantize";
    static constexpr std::string_view kBlockName = "quantize_blocks";
    void operands(Operands& all) const {
        RM_CHECK(rows.empty() || columns.empty() || rows.format == columns.format,
                 "quantize: two formats of one tensor");
        all.reads().compute<"T C">(x, "x");
        if (scaling == Scaling::given) bind_scales(all);
        all.writes().floats<"1">(amax, "amax");
        if (scaling != Scaling::given) bind_scales(all);
        if (merges()) all.floats<"1">(largest, "largest");
        if (is_observed()) {
            all.scalars<"E">(effect, "effect");
            RM_CHECK(all["E"] == kFp8EffectNumbers, "quantize: an effect of {} numbers", all["E"]);
            RM_CHECK(!rows.empty(), "quantize: an effect without rows");
        }
        if (!rows.empty()) all.codes<"T C">(rows.codes, "rows");
        check_fp8_columns(kName, all["C"]);
        if (columns.empty()) return;
        all.codes<"C P">(columns.codes, "columns");
        RM_CHECK(all["P"] == padded_tokens(all["T"]), "quantize: {} columns for {} tokens; {}",
                 all["P"], all["T"], padded_tokens(all["T"]));
    }
    bool merges() const { return largest.rank() != 0; }
    bool is_observed() const { return effect.rank() != 0; }
    bool blocks() const { return scaling == Scaling::blocks; }
    Fp8 format() const { return rows.empty() ? columns.format : rows.format; }
    // For machines whose memory the host may touch.
    void add_effect(const Fp8Effect& more) const {
        double* to = effect.as<double>();
        for (const double number : std::bit_cast<Fp8EffectNumbers>(more))
            *to++ += number;
    }
    float scale() const { return *(rows.empty() ? columns : rows).scale.as<float>(); }
    void set_scale(float scale) const {
        for (const Fp8Matrix* to : {&rows, &columns}) {
            if (!to->empty()) *to->scale.as<float>() = scale;
        }
    }

private:
    void bind_scales(Operands& all) const {
        for (const Fp8Matrix* to : {&rows, &columns}) {
            if (to->empty()) continue;
            RM_CHECK(to->blocks() == blocks(), "quantize: a scale is {}; {}",
                     shape_string(to->scale),
                     blocks() ? "blocks have one each" : "it should be one");
            fp8_scale_operand(all, *to, "a scale");
        }
    }
};

// The scales of e4m3 tensors that ranks hold in parts, from the largest number of each part.
struct Fp8Scales {
    TensorView maxima;  // (R, S) f32: of rank r's part of tensor s; 0 where it has none
    TensorView scales;  // (S) f32

    static constexpr std::string_view kName = "fp8_scales";
    void operands(Operands& all) const {
        all.reads().floats<"R S">(maxima, "maxima").writes().floats<"S">(scales, "scales");
    }
};

// y = x W^T
struct Fp8LinearFwd {
    Fp8Matrix x;
    const PreparedWeight* weight = nullptr;
    TensorView y;
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "fp8_linear_fwd";
    static constexpr std::string_view kBlockName = "fp8_block_fwd";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        check_fp8_weight(kName, "x", x, weight);
        all.reads().weight<"N K">(weight, "weight", fp8_form(x));
        fp8_operand<"T K">(all, x, "x");
        all.writes().compute<"T N">(y, "y");
    }
    bool blocks() const { return x.blocks(); }
    double flops() const { return product_flops(x.codes, y.dim(1)); }
};

// d_x = d_y W
struct Fp8LinearBwdInput {
    Fp8Matrix d_y;
    const PreparedWeight* weight = nullptr;
    TensorView d_x;
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "fp8_linear_bwd_input";
    static constexpr std::string_view kBlockName = "fp8_block_bwd_input";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        check_fp8_weight(kName, "d_y", d_y, weight);
        all.reads().weight<"N K">(weight, "weight", fp8_form(d_y));
        fp8_operand<"T N">(all, d_y, "d_y");
        all.writes().compute<"T K">(d_x, "d_x");
    }
    bool blocks() const { return d_y.blocks(); }
    double flops() const { return product_flops(d_y.codes, d_x.dim(1)); }
};

// d_weight += d_y^T x; both as Quantize::columns. Not both e5m2.
struct Fp8LinearBwdWeight {
    Fp8Matrix d_y;
    Fp8Matrix x;
    TensorView d_weight;

    static constexpr std::string_view kName = "fp8_linear_bwd_weight";
    static constexpr std::string_view kBlockName = "fp8_block_bwd_weight";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        check_fp8_forms(kName, "d_y", d_y, "x", fp8_form(x));
        all.reads();
        fp8_operand<"N P">(all, d_y, "d_y");
        fp8_operand<"K P">(all, x, "x");
        all.writes().accum<"N K">(d_weight, "d_weight");
        check_fp8_columns(kName, all["P"]);
        RM_CHECK(d_y.format == Fp8::e4m3 || x.format == Fp8::e4m3,
                 "fp8_linear_bwd_weight: both operands are e5m2");
    }
    bool blocks() const { return x.blocks(); }
    double flops() const { return product_flops(d_y.codes, x.codes.dim(0)); }
};

// Codes of a weight and the prepared weight to fill from them.
inline Dims check_prepare(const Fp8Matrix& weight, const PreparedWeight& prepared,
                          const NumericTypes& types) {
    Operands operands("prepare", types);
    RM_CHECK(weight.format == Fp8::e4m3, "prepare: weights are e4m3");
    check_fp8_weight("prepare", "weight", weight, &prepared);
    operands.weight<"N K">(&prepared, "prepared", WeightForm::fp8);
    fp8_operand<"N K">(operands, weight, "weight");
    return operands.dims();
}

}  // namespace rm
