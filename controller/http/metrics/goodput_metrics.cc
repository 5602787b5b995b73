#include "controller/http/metrics/goodput_metrics.h"

#include "controller/core/jobs/has_series.h"
#include "service/http/metrics.h"

namespace rm {

std::string goodput_metrics(const GoodputBook& book, const State& state, WallTime now) {
    prometheus::Registry registry;
    auto& good = counter_family(registry, "ringmaster_train_goodput_seconds_total",
                                "Time of steps that ran for the first time, without what they "
                                "waited for. A step counts once it has ended.");
    auto& bad = counter_family(registry, "ringmaster_train_badput_seconds_total",
                               "The rest of the time since the job's submission, by cause: queue, "
                               "start, restore, recomputed, checkpoint, stall, straggler, idle.");
    for (const auto& [id, job] : state.jobs) {
        // A run without its accounts has no series: zeros would look like a counter that starts
        // over.
        if (!has_series(state, job, now) || !book.has(id)) continue;
        const TimeSplit split = book.split(state, job, now);
        good.Add({{"run", id.value}}).Increment(split.good);
        for (std::size_t i = 0; i < kBadputNames.size(); ++i) {
            bad.Add({{"run", id.value}, {"cause", std::string(kBadputNames[i])}})
                .Increment(split.bad[i]);
        }
    }
    return expose(registry);
}

}  // namespace rm
