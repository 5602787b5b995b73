#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// h = silu(gate) * up
struct SwigluFwd {
    TensorView gate;
    TensorView up;
    TensorView h;

    static constexpr std::string_view kName = "swiglu_fwd";
    void operands(Operands& all) const {
        all.reads().compute<"T F">(gate, "gate").compute<"T F">(up, "up");
        all.writes().compute<"T F">(h, "h");
    }
};

struct SwigluBwd {
    TensorView d_h;
    TensorView gate;
    TensorView up;
    TensorView d_gate;  // may be d_h
    TensorView d_up;

    static constexpr std::string_view kName = "swiglu_bwd";
    void operands(Operands& all) const {
        all.reads().compute<"T F">(d_h, "d_h").compute<"T F">(gate, "gate");
        all.compute<"T F">(up, "up");
        all.writes().compute<"T F">(d_gate, "d_gate").compute<"T F">(d_up, "d_up");
    }
};

}  // namespace rm
