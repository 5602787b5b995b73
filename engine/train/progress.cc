#include "engine/train/progress.h"

namespace rm {

std::string_view to_string(Phase phase) {
    switch (phase) {
        case Phase::starting:
            return "starting";
        case Phase::data:
            return "data";
        case Phase::forward:
            return "forward";
        case Phase::backward:
            return "backward";
        case Phase::reduce:
            return "reduce";
        case Phase::optimizer:
            return "optimizer";
        case Phase::checkpoint:
            return "checkpoint";
        case Phase::evaluation:
            return "evaluation";
        case Phase::done:
            return "done";
        case Phase::loading:
            return "loading";
        case Phase::exporting:
            return "exporting";
    }
    return "?";
}

bool is_of_a_step(Phase phase) {
    switch (phase) {
        case Phase::data:
        case Phase::forward:
        case Phase::backward:
        case Phase::reduce:
        case Phase::optimizer:
            return true;
        case Phase::starting:
        case Phase::checkpoint:
        case Phase::evaluation:
        case Phase::done:
        case Phase::loading:
        case Phase::exporting:
            break;
    }
    return false;
}

}  // namespace rm
