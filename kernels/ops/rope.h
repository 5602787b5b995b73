#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// Rotary tables of the tokens in `runs`. The angle position * inv_freq[i] is formed in fp64 and
// reduced mod 2 pi before cos and sin; `scale` multiplies both (YaRN's attention factor).
struct RopeTable {
    std::span<const Run> runs;
    std::span<const double> inv_freq;  // D / 2
    double scale = 1;
    TensorView cos;
    TensorView sin;

    static constexpr std::string_view kName = "rope_table";
    void operands(Operands& all) const {
        all.writes().accum<"T half">(cos, "cos").accum<"T half">(sin, "sin");
        all.tokens(runs, "T", "runs");
        RM_CHECK(static_cast<std::int64_t>(inv_freq.size()) == all["half"],
                 "rope_table: {} frequencies, tables of {}", inv_freq.size(), all["half"]);
    }
};

enum class Rotation { forward, backward };

// Rotates pairs (i, i + D/2) of every head in place (the Hugging Face layout).
struct RopeApply {
    TensorView x;
    TensorView cos;
    TensorView sin;
    Rotation rotation = Rotation::forward;

    static constexpr std::string_view kName = "rope_apply";
    void operands(Operands& all) const {
        all.writes().compute<"T H D">(x, "x");
        all.reads().accum<"T half">(cos, "cos").accum<"T half">(sin, "sin");
        RM_CHECK(all["D"] == 2 * all["half"],
                 "rope_apply: tables of {} frequencies for head dim {}", all["half"], all["D"]);
    }
};

}  // namespace rm
