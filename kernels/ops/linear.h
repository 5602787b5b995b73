#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// y = x W^T
struct LinearFwd {
    TensorView x;
    const PreparedWeight* weight = nullptr;
    TensorView y;
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "linear_fwd";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().weight<"N K">(weight, "weight").compute<"T K">(x, "x");
        all.writes().compute<"T N">(y, "y");
    }
    double flops() const { return product_flops(x, y.dim(1)); }
};

// d_x = d_y W
struct LinearBwdInput {
    TensorView d_y;
    const PreparedWeight* weight = nullptr;
    TensorView d_x;
    Into into = Into::overwrite;

    static constexpr std::string_view kName = "linear_bwd_input";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().weight<"N K">(weight, "weight").compute<"T N">(d_y, "d_y");
        all.writes().compute<"T K">(d_x, "d_x");
    }
    double flops() const { return product_flops(d_y, d_x.dim(1)); }
};

// d_weight += d_y^T x
struct LinearBwdWeight {
    TensorView d_y;
    TensorView x;
    TensorView d_weight;

    static constexpr std::string_view kName = "linear_bwd_weight";
    static constexpr OpClass kClass = OpClass::products;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().compute<"T N">(d_y, "d_y").compute<"T K">(x, "x");
        all.writes().accum<"N K">(d_weight, "d_weight");
    }
    double flops() const { return product_flops(d_y, x.dim(1)); }
};

}  // namespace rm
