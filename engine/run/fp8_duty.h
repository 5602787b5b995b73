#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/run/rank_parts.h"
#include "spec/report.h"

namespace rm {

// Watches what rounding to FP8 does to a run's tensors. A layer with one that FP8 does not hold
// computes in bf16 for fp8.fallback_steps, or ends the run. Without FP8 it does nothing.
class Fp8Duty {
public:
    // Borrows the parts.
    explicit Fp8Duty(RankParts& parts) : parts_(parts) {}

    // Before a stage's buffers are made: its first step begins without history or fallback.
    void begin_stage();
    // Before a step's work is queued; steps count from 1.
    void begin_step(std::int64_t step);
    // Adds what the step's rounding did.
    void add_to(StepReport& report) const;
    // After the step. An error names the tensor. Collective: all ranks decide the same.
    Status end_step(std::int64_t step);
    // The tensors that had numbers which were not finite, for an error's text; or nothing.
    std::string nonfinite_text() const;

private:
    Fp8Sites& sites() const { return parts_.engine.weights().fp8(); }
    const Fp8Limits& limits() const { return parts_.engine.weights().precision().limits; }

    RankParts& parts_;
};

}  // namespace rm
