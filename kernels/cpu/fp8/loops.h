#pragma once

#include <vector>

#include "kernels/cpu/fp8/turn_codes.h"
#include "kernels/cpu/ops.h"

// Parts of the loops on FP8, for one scale and for scales of blocks.
namespace rm::cpu {

template <typename E>
const simd::Fp8FormatLoops<E>& loops_for(Fp8 format, const simd::RowLoops<E>& loops) {
    return format == Fp8::e4m3 ? loops.fp8.e4m3 : loops.fp8.e5m2;
}

// Collects the effects of rounding by worker, where a caller wants them.
class WorkersEffects {
public:
    WorkersEffects(const Quantize& op, int workers) : all_(op.is_observed() ? usize(workers) : 0) {}

    // A row that was rounded with one factor.
    template <typename E>
    void add(const simd::Fp8FormatLoops<E>& loops, const E* x, const std::uint8_t* codes,
             float factor, std::int64_t count, int worker) {
        if (all_.empty()) return;
        const simd::Fp8RowEffect row = loops.observe(x, codes, factor, count);
        const double unit = 1.0 / factor / factor;
        Fp8Effect& effect = all_[usize(worker)];
        effect.nonzero += row.nonzero;
        effect.flushed += row.flushed;
        effect.saturated += row.saturated;
        effect.nonfinite += row.nonfinite;
        effect.squares += static_cast<double>(row.squares) * unit;
        effect.squared_error += static_cast<double>(row.squared_error) * unit;
    }
    void add_to(const Quantize& op) const {
        for (const Fp8Effect& effect : all_)
            op.add_effect(effect);
    }

private:
    std::vector<Fp8Effect> all_;
};

}  // namespace rm::cpu
