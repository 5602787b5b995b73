#include "controller/core/jobs/has_series.h"

namespace rm {

bool has_series(const State& state, const Job& job, WallTime now) {
    constexpr Seconds kKeptAfterEnd{120};
    if (is_terminal(job.state) && now - job.ended > kKeptAfterEnd) return false;
    return newest_attempt(state, job.id) != nullptr;
}

}  // namespace rm
