#pragma once

#include "kernels/ops/operands.h"

namespace rm {

struct FillZero {
    TensorView x;  // any shape and type

    static constexpr std::string_view kName = "fill_zero";
    void operands(Operands& all) const { all.writes().elements(x, "x"); }
};

struct Copy {  // also converts dtype
    TensorView from;
    TensorView to;  // as many elements

    static constexpr std::string_view kName = "copy";
    void operands(Operands& all) const {
        const DType before = from.dtype(), after = to.dtype();
        RM_CHECK(before == after || (before != DType::i32 && after != DType::i32),
                 "copy: {} is not converted to {}; f64, f32 and bf16 are", to_string(before),
                 to_string(after));
        all.reads().elements(from, "from").writes().elements(to, "to");
    }
};

struct Add {  // y += x
    TensorView x;
    TensorView y;  // as many elements of the same type

    static constexpr std::string_view kName = "add";
    void operands(Operands& all) const {
        const NumericTypes& types = all.types();
        RM_CHECK(x.dtype() == types.compute || x.dtype() == types.accum,
                 "add: x is {}; {} and {} are added here", shape_string(x),
                 to_string(types.compute), to_string(types.accum));
        all.reads().elements(x, "x").writes().elements(y, "y", x.dtype());
    }
};

}  // namespace rm
