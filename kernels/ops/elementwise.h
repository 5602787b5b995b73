#pragma once

#include <algorithm>
#include <initializer_list>

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

struct Add {       // y += x, in accum and rounded once
    TensorView x;  // compute, accum or bf16
    TensorView y;  // as many elements of the same type or bf16

    static constexpr std::string_view kName = "add";
    void operands(Operands& all) const {
        const NumericTypes& types = all.types();
        const auto is_one_of = [](DType dtype, std::initializer_list<DType> known) {
            return std::ranges::find(known, dtype) != known.end();
        };
        RM_CHECK(is_one_of(x.dtype(), {types.compute, types.accum, DType::bf16}) &&
                     is_one_of(y.dtype(), {x.dtype(), DType::bf16}),
                 "add: x is {} and y is {}; {}, {} and bf16 are added to their own type or bf16",
                 shape_string(x), shape_string(y), to_string(types.compute),
                 to_string(types.accum));
        all.reads().elements(x, "x").writes().elements(y, "y");
    }
};

}  // namespace rm
