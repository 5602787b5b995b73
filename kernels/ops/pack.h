#pragma once

#include "kernels/ops/operands.h"

namespace rm {

// A row of C numbers in FP8, as words of four bytes: its codes (e4m3, kernels/fp8.h), filled up
// with zeros to a whole word, and then the inverse of its factor, a float. The factor is fp8_scale
// of the row's largest size, NaNs left out: a power of two, so that only the codes round.
constexpr std::int64_t packed_words(std::int64_t C) {
    return (C + 3) / 4 + 1;
}

inline void check_packed(std::string_view op, const Operands& all) {
    RM_CHECK(all["W"] == packed_words(all["C"]), "{}: {} words for rows of {}; {} fit", op,
             all["W"], all["C"], packed_words(all["C"]));
}

struct PackRows {
    TensorView x;
    TensorView packed;

    static constexpr std::string_view kName = "pack_rows";
    void operands(Operands& all) const {
        all.reads().compute<"T C">(x, "x").writes().indices<"T W">(packed, "packed");
        check_packed(kName, all);
    }
};

struct UnpackRows {
    TensorView packed;
    TensorView x;

    static constexpr std::string_view kName = "unpack_rows";
    void operands(Operands& all) const {
        all.reads().indices<"T W">(packed, "packed").writes().compute<"T C">(x, "x");
        check_packed(kName, all);
    }
};

}  // namespace rm
