#include "controller/http/metrics/controller_metrics.h"

#include "controller/http/metrics/cost_metrics.h"
#include "controller/http/metrics/goodput_metrics.h"
#include "controller/http/metrics/link_metrics.h"
#include "controller/http/metrics/machine_metrics.h"
#include "controller/http/metrics/node_metrics.h"
#include "controller/http/metrics/plan_metrics.h"

namespace rm {

std::string controller_metrics(const MetricSources& from) {
    const WallTime now = from.ops.clock.wall();
    const std::string of_state = from.ops.control.read([&](const State& state) {
        from.fleet.update(state, now, from.ops.space.refused());
        return node_metrics(state) + queue_metrics(state, now) +
               cost_metrics(run_bills(state, now)) + goodput_metrics(from.goodput, state, now);
    });
    return from.fleet.expose() + of_state + link_metrics(from.surveys.view().book) +
           plan_metrics(planned_runs(from.ops)) + from.rpcs.expose() +
           machine_metrics(from.ops.machines()) + disk_metrics(from.ops.space.directory());
}

}  // namespace rm
