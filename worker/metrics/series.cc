#include "worker/metrics/series.h"

namespace rm {

Series::~Series() {
    for (const auto& remove : removals_)
        remove();
}

}  // namespace rm
