#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// y = x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich, 2019)
struct RmsNormFwd {
    TensorView x;
    TensorView weight;
    TensorView y;
    TensorView rstd;
    double eps = 1e-5;

    static constexpr std::string_view kName = "rmsnorm_fwd";
    void operands(Operands& all) const {
        all.reads().compute<"T C">(x, "x").master<"C">(weight, "weight");
        all.writes().compute<"T C">(y, "y").accum<"T">(rstd, "rstd");
    }
};

struct RmsNormBwd {
    TensorView d_y;
    TensorView x;
    TensorView weight;
    TensorView rstd;
    TensorView d_x;       // summed into
    TensorView d_weight;  // summed into

    static constexpr std::string_view kName = "rmsnorm_bwd";
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        all.reads().compute<"T C">(d_y, "d_y").compute<"T C">(x, "x");
        all.master<"C">(weight, "weight").accum<"T">(rstd, "rstd");
        all.writes().compute<"T C">(d_x, "d_x").accum<"C">(d_weight, "d_weight");
    }
};

}  // namespace rm
