#include "engine/run/step_health.h"

#include <algorithm>
#include <cmath>

namespace rm {

void StepHealth::add(const Step& step) {
    num_without_target_ = 0;
    last_ = step;
    if (step.finite) {
        last_good_ = step;
        first_skipped_ = 0;
    } else if (first_skipped_ == 0) {
        first_skipped_ = step.step;
    }
}

void StepHealth::add_without_target(std::int64_t step) {
    last_.step = step;
    ++num_without_target_;
}

Error StepHealth::hopeless_error(const std::string& culprit) const {
    const std::string before =
        last_good_.step == 0
            ? "no step of this run was finite"
            : format("the last good step was {} with loss {:.4}", last_good_.step, last_good_.loss);
    return invalid_argument(
        "steps {} to {} are not finite, as many as optimizer.max_skipped allows ({}): learning "
        "rate {}, loss {:.4}; {}; {}. Lower the learning rate, warm up longer or check the data",
        first_skipped_, last_.step, max_skipped_, last_.learning_rate, last_.loss, before, culprit);
}

Error StepHealth::starved_error() const {
    return invalid_argument(
        "steps {} to {} have no target, as many as optimizer.max_skipped allows ({}): with "
        "data.documents: separate a document of one token has none; join the documents or give "
        "longer ones",
        last_.step - num_without_target_ + 1, last_.step, max_skipped_);
}

double divergence_limit(double first_loss, std::int64_t vocabulary) {
    const auto limit = [](double loss) { return loss + std::max(1.0, 0.2 * loss); };
    const double guessing = limit(std::log(static_cast<double>(vocabulary)));
    return std::isfinite(first_loss) && first_loss > 0 ? std::min(guessing, limit(first_loss))
                                                       : guessing;
}

}  // namespace rm
