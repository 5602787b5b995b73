#include "controller/http/metrics/cost_metrics.h"

#include "controller/core/jobs/has_series.h"
#include "controller/core/jobs/job_cost.h"
#include "service/http/metrics.h"

namespace rm {

std::vector<RunBill> run_bills(const State& state, WallTime now) {
    std::vector<RunBill> bills;
    for (const auto& [id, job] : state.jobs) {
        if (has_series(state, job, now)) bills.push_back({id, cost_of(state, job, now)});
    }
    return bills;
}

std::string cost_metrics(const std::vector<RunBill>& bills) {
    prometheus::Registry registry;
    auto& money = gauge_family(registry, "ringmaster_run_cost",
                               "The money that a run has cost by the controller's prices, all "
                               "attempts together, in the labelled currency.");
    auto& energy = gauge_family(registry, "ringmaster_run_energy_joules",
                                "Energy of a run at the building's meter, all attempts together: "
                                "as GPUs have measured it of attempts that have ended, or else by "
                                "the power in the controller's prices.");
    for (const auto& [job, cost] : bills) {
        if (!cost.currency.empty())
            money.Add({{"run", job.value}, {"currency", cost.currency}}).Set(cost.money);
        if (cost.kwh > 0) energy.Add({{"run", job.value}}).Set(cost.kwh * kJoulesPerKwh);
    }
    return expose(registry);
}

}  // namespace rm
