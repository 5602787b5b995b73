#include "engine/train/schedule.h"

#include <cmath>
#include <numbers>

namespace rm {

double learning_rate_at(const StageSpec& stage, std::int64_t stage_step) {
    if (stage_step <= stage.warmup_steps) {
        return stage.learning_rate * static_cast<double>(stage_step) /
               static_cast<double>(stage.warmup_steps);
    }
    const double span = static_cast<double>(stage.num_steps() - stage.warmup_steps);
    const double done = static_cast<double>(stage_step - stage.warmup_steps) / span;
    const double fall = stage.learning_rate - stage.final_learning_rate;
    switch (stage.schedule) {
        case Schedule::constant:
            return stage.learning_rate;
        case Schedule::cosine:
            return stage.final_learning_rate + fall * (1 + std::cos(std::numbers::pi * done)) / 2;
        case Schedule::linear:
            return stage.final_learning_rate + fall * (1 - done);
    }
    return stage.learning_rate;
}

}  // namespace rm
