#pragma once

#include <cstddef>
#include <limits>

#include "kernels/ops/fp8_linear.h"
#include "kernels/ops/operands.h"

namespace rm {

// Gradients and moments may be kept in bf16.
inline void check_accum_or_bf16(const Operands& all, const TensorView& x, std::string_view op,
                                std::string_view name) {
    const DType accum = all.types().accum;
    RM_CHECK(x.dtype() == accum || x.dtype() == DType::bf16, "{}: {} is {}, should be {} or bf16",
             op, name, shape_string(x), to_string(accum));
}

// sum += sum of squares, in f64.
struct SumSquares {
    TensorView x;    // any shape, accum or bf16
    TensorView sum;  // summed into

    static constexpr std::string_view kName = "sum_squares";
    static constexpr OpClass kClass = OpClass::optimizer;
    static constexpr bool kTakesWorkspace = true;
    void operands(Operands& all) const {
        check_accum_or_bf16(all, x, kName, "x");
        all.reads().elements(x, "x").writes().scalars<"1">(sum, "sum");
    }
};

// From the squared norm of all gradients: norm, the factor min(1, max_norm / norm), and whether the
// step is finite (1 or 0): its norm is, and so was all that it rounded to FP8, which makes an
// infinity a finite number. max_norm <= 0 never clips.
struct ClipFactor {
    TensorView sum;
    double max_norm = 0;
    TensorView out;           // norm, factor, finite
    TensorView effects = {};  // (sites * kFp8EffectNumbers) f64: Fp8Effects; or empty

    static constexpr std::string_view kName = "clip_factor";
    static constexpr OpClass kClass = OpClass::optimizer;
    void operands(Operands& all) const {
        all.reads().scalars<"1">(sum, "sum");
        if (num_effects() > 0) all.scalars<"E">(effects, "effects");
        all.writes().scalars<"3">(out, "out");
    }
    std::int64_t num_effects() const {
        return effects.rank() == 0 ? 0 : effects.num_elements() / kFp8EffectNumbers;
    }
    // For machines whose memory the host may touch.
    bool rounded_only_finite() const {
        constexpr std::int64_t kNonfinite = offsetof(Fp8Effect, nonfinite) / sizeof(double);
        double count = 0;
        for (std::int64_t i = 0; i < num_effects(); ++i)
            count += effects.as<double>()[i * kFp8EffectNumbers + kNonfinite];
        return count == 0;
    }
};

// AdamW (Loshchilov and Hutter, 2019) with bias correction. Does nothing when clip says not finite.
// Moments in bf16 are rounded stochastically: up with the probability that makes the expectation
// exact, drawn from (rounding_seed, step, the element's index in the whole tensor), so that any cut
// of a tensor over ranks gives the same bits. The update uses the moments before they are rounded.
struct AdamW {
    TensorView weight;  // master
    TensorView grad;    // accum or bf16
    TensorView m;       // accum or bf16
    TensorView v;       // like m
    TensorView clip;    // of ClipFactor
    double learning_rate = 0;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0;
    std::int64_t step = 1;            // 1 on the first update
    std::uint64_t rounding_seed = 0;  // one per tensor
    // With p = first_element + i, element i is element p of the whole tensor; or, when that is cut
    // by columns (`columns` > 0 of them here), (p / columns) * all_columns + first_column +
    // p % columns.
    std::int64_t first_element = 0;
    std::int64_t columns = 0;
    std::int64_t all_columns = 0;
    std::int64_t first_column = 0;

    static constexpr std::string_view kName = "adamw";
    static constexpr OpClass kClass = OpClass::optimizer;
    void operands(Operands& all) const {
        const NumericTypes& types = all.types();
        all.writes().elements(weight, "weight", types.master);
        check_accum_or_bf16(all, grad, kName, "grad");
        check_accum_or_bf16(all, m, kName, "m");
        all.reads().elements(grad, "grad");
        all.writes().elements(m, "m").elements(v, "v", m.dtype());
        all.reads().scalars<"3">(clip, "clip");
        RM_CHECK(step >= 1, "adamw: step {}; the first is 1", step);
        RM_CHECK(columns == 0 ||
                     (columns > 0 && first_column >= 0 && first_column + columns <= all_columns),
                 "adamw: columns {}+{} of {}", first_column, columns, all_columns);
    }
};

// The elements of an AdamW op in order, each as an element of the whole tensor.
class WholeElements {
public:
    // The first to be taken is element `i` of the op.
    WholeElements(const AdamW& op, std::int64_t i) : element_(op.first_element + i) {
        if (op.columns == 0) return;
        const std::int64_t row = element_ / op.columns;
        left_ = op.columns - element_ % op.columns;
        element_ = row * op.all_columns + op.first_column + (op.columns - left_);
        columns_ = op.columns;
        gap_ = op.all_columns - op.columns;
    }

    std::uint64_t take() {
        const auto element = static_cast<std::uint64_t>(element_++);
        if (--left_ == 0) {
            left_ = columns_;
            element_ += gap_;
        }
        return element;
    }

private:
    std::int64_t element_ = 0;
    std::int64_t left_ = std::numeric_limits<std::int64_t>::max();  // in this row
    std::int64_t columns_ = 0, gap_ = 0;
};

}  // namespace rm
