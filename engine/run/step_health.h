#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rm {

// Tracks whether the steps of a run are usable, and decides when the run must end. All ranks pass
// in the same values and reach the same decision.
class StepHealth {
public:
    // max_skipped: so many updates in a row may be skipped; see OptimizerSpec.
    explicit StepHealth(int max_skipped) : max_skipped_(max_skipped) {}

    struct Step {
        std::int64_t step = 0;
        double learning_rate = 0;
        double loss = 0;
        bool finite = true;  // the gradient is
    };
    void add(const Step& step);
    // No sequence of the step has a target.
    void add_without_target(std::int64_t step);

    // The last step with targets was finite, or there was none yet.
    bool good() const { return first_skipped_ == 0; }
    bool hopeless() const { return last_.step - first_skipped_ + 1 >= max_skipped_ && !good(); }
    bool starved() const { return num_without_target_ >= max_skipped_; }
    // Why a hopeless run ends. `culprit`: the first tensor found to be wrong.
    Error hopeless_error(const std::string& culprit) const;
    Error starved_error() const;

private:
    int max_skipped_;
    int num_without_target_ = 0;      // in a row
    std::int64_t first_skipped_ = 0;  // of those in a row; 0: the last was finite
    Step last_;
    Step last_good_;  // step 0: none in this run
};

// A loss above this is far from where the run began, and from what guessing gives: a model that
// learns stays below. `first_loss`: of the job's first step; 0: not known. Nats.
double divergence_limit(double first_loss, std::int64_t vocabulary);

}  // namespace rm
