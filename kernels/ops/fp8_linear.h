#pragma once

#include "kernels/fp8.h"
#include "kernels/ops/operands.h"

// Linear layers on operands rounded to FP8, with a scale for each tensor: a power of two, so that
// only the codes round (kernels/fp8.h). Products sum along the codes' rows, the one layout that
// GPUs multiply (sm_89: cuBLASLt, TN), so an operand of the product that sums over tokens is needed
// turned around, with columns P: T rounded up to a multiple of 16, zeros behind T. Columns C, N and
// K are multiples of 16. Micikevicius et al., FP8 Formats for Deep Learning, 2022.
namespace rm {

constexpr std::int64_t kFp8Align = 16;
constexpr std::int64_t padded_tokens(std::int64_t T) {
    return (T + kFp8Align - 1) / kFp8Align * kFp8Align;
}

// A matrix in FP8: element = code * scale.
struct Fp8Matrix {
    TensorView codes;  // (rows, columns) u8
    TensorView scale;  // (1) f32, at a multiple of 16 bytes
    Fp8 format = Fp8::e4m3;

    bool empty() const { return codes.rank() == 0; }
};

inline void check_fp8_columns(std::string_view op, std::int64_t columns) {
    RM_CHECK(columns % kFp8Align == 0, "{}: {} columns; FP8 takes multiples of {}", op, columns,
             kFp8Align);
}
template <DimNames names>
void fp8_operand(Operands& all, const Fp8Matrix& matrix, std::string_view name) {
    all.template codes<names>(matrix.codes, name).template floats<"1">(matrix.scale, name);
}

// current: a scale for the tensor's own largest number; given: the one that is there, which another
// tensor had (delayed scaling), so that numbers may be too large for it.
enum class Scaling { current, given };

// Rounds a tensor, once for all products that take it. Either orientation may be left out; both
// have the same format and scale. To nearest, ties to even; what is too large, infinities too,
// becomes the largest number, NaN stays NaN.
struct Quantize {
    TensorView x;
    Fp8Matrix rows;     // (T, C), or empty
    Fp8Matrix columns;  // (C, P), or empty
    TensorView amax;    // (1) f32: the largest size in x; NaNs are left out
    Scaling scaling = Scaling::current;
    TensorView largest = {};  // (1) f32: becomes amax if that is larger; or empty

    static constexpr std::string_view kName = "quantize";
    void operands(Operands& all) const {
        RM_CHECK(rows.empty() || columns.empty() || rows.format == columns.format,
                 "quantize: two formats of one tensor");
        all.reads().compute<"T C">(x, "x");
        if (scaling == Scaling::given) bind_scales(all);
        all.writes().floats<"1">(amax, "amax");
        if (scaling == Scaling::current) bind_scales(all);
        if (merges()) all.floats<"1">(largest, "largest");
        if (!rows.empty()) all.codes<"T C">(rows.codes, "rows");
        check_fp8_columns(kName, all["C"]);
        if (columns.empty()) return;
        all.codes<"C P">(columns.codes, "columns");
        RM_CHECK(all["P"] == padded_tokens(all["T"]), "quantize: {} columns for {} tokens; {}",
                 all["P"], all["T"], padded_tokens(all["T"]));
    }
    bool merges() const { return largest.rank() != 0; }
    Fp8 format() const { return rows.empty() ? columns.format : rows.format; }
    // For machines whose memory the host may touch.
    float scale() const { return *(rows.empty() ? columns : rows).scale.as<float>(); }
    void set_scale(float scale) const {
        for (const Fp8Matrix* to : {&rows, &columns}) {
            if (!to->empty()) *to->scale.as<float>() = scale;
        }
    }

private:
    void bind_scales(Operands& all) const {
        for (const Fp8Matrix* to : {&rows, &columns}) {
            if (!to->empty()) all.floats<"1">(to->scale, "a scale");
        }
    }
};

// y = x W^T
struct Fp8LinearFwd {
    Fp8Matrix x;
    const PreparedWeight* weight = nullptr;
    TensorView y;
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "fp8_linear_fwd";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().weight<"N K">(weight, "weight", WeightForm::fp8);
        fp8_operand<"T K">(all, x, "x");
        all.writes().compute<"T N">(y, "y");
    }
    double flops() const { return product_flops(x.codes, y.dim(1)); }
};

// d_x = d_y W
struct Fp8LinearBwdInput {
    Fp8Matrix d_y;
    const PreparedWeight* weight = nullptr;
    TensorView d_x;
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "fp8_linear_bwd_input";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().weight<"N K">(weight, "weight", WeightForm::fp8);
        fp8_operand<"T N">(all, d_y, "d_y");
        all.writes().compute<"T K">(d_x, "d_x");
    }
    double flops() const { return product_flops(d_y.codes, d_x.dim(1)); }
};

// d_weight += d_y^T x; both as Quantize::columns. Not both e5m2.
struct Fp8LinearBwdWeight {
    Fp8Matrix d_y;
    Fp8Matrix x;
    TensorView d_weight;

    static constexpr std::string_view kName = "fp8_linear_bwd_weight";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads();
        fp8_operand<"N P">(all, d_y, "d_y");
        fp8_operand<"K P">(all, x, "x");
        all.writes().accum<"N K">(d_weight, "d_weight");
        check_fp8_columns(kName, all["P"]);
        RM_CHECK(d_y.format == Fp8::e4m3 || x.format == Fp8::e4m3,
                 "fp8_linear_bwd_weight: both operands are e5m2");
    }
    double flops() const { return product_flops(d_y.codes, x.codes.dim(0)); }
};

}  // namespace rm
