#include "controller/http/metrics/node_metrics.h"

#include <algorithm>

#include "base/os/disk_space.h"
#include "service/http/metrics.h"

namespace rm {
namespace {

// The longest queue that has a series for each job: the jobs that have waited longest.
constexpr std::size_t kMostPending = 100;

// By currency; devices without a price add nothing.
std::map<std::string, double> prices_of(const State& state, const Node& node) {
    std::map<std::string, double> prices;
    for (const DeviceInfo& device : node.inventory.devices) {
        const Price price = rates_of(state, node, device.kind).price;
        if (price.per_device_hour > 0) prices[price.currency] += price.per_device_hour;
    }
    return prices;
}

// Since its submission or the end of its last attempt.
Seconds pending_for(const State& state, const Job& job, WallTime now) {
    const Attempt* last = newest_attempt(state, job.id);
    const WallTime since = last == nullptr ? job.submitted : std::max(job.submitted, last->ended);
    return {std::max(0.0, (now - since).value)};
}

using Waiting = std::pair<double, JobId>;  // seconds

std::vector<Waiting> longest_waiting(const State& state, WallTime now) {
    std::vector<Waiting> waiting;
    for (const JobId& id : state.live_jobs) {
        const Job& job = state.jobs.at(id);
        if (job.state == JobState::pending)
            waiting.emplace_back(pending_for(state, job, now).value, id);
    }
    std::sort(waiting.rbegin(), waiting.rend());
    waiting.resize(std::min(waiting.size(), kMostPending));
    return waiting;
}

}  // namespace

std::string node_metrics(const State& state) {
    prometheus::Registry registry;
    auto& up = gauge_family(registry, "ringmaster_node_up",
                            "1: the node's worker has a session; 0: it has none.");
    auto& price = gauge_family(registry, "ringmaster_node_price_per_hour",
                               "The node's devices by the controller's prices, used or not, in "
                               "the labelled currency.");
    for (const auto& [id, node] : state.nodes) {
        if (node.state == NodeState::gone) continue;
        up.Add({{"node", id.value}, {"hostname", node.inventory.hostname}})
            .Set(node.session.up ? 1 : 0);
        for (const auto& [currency, per_hour] : prices_of(state, node))
            price.Add({{"node", id.value}, {"currency", currency}}).Set(per_hour);
    }
    return expose(registry);
}

std::string queue_metrics(const State& state, WallTime now) {
    prometheus::Registry registry;
    auto& pending = gauge_family(registry, "ringmaster_job_pending_seconds",
                                 "How long a job has waited for devices, of the 100 that have "
                                 "waited longest: since its submission, or the end of its last "
                                 "attempt.");
    for (const auto& [seconds, job] : longest_waiting(state, now))
        pending.Add({{"run", job.value}}).Set(seconds);
    return expose(registry);
}

std::string disk_metrics(const std::string& directory) {
    const auto disk = disk_space(directory);
    if (!disk) return "";
    prometheus::Registry registry;
    gauge_family(registry, "ringmaster_controller_disk_free_bytes",
                 "Free space of the disk with the controller's state.")
        .Add({})
        .Set(static_cast<double>(disk->free.value));
    gauge_family(registry, "ringmaster_controller_disk_capacity_bytes",
                 "Size of the disk with the controller's state.")
        .Add({})
        .Set(static_cast<double>(disk->capacity.value));
    return expose(registry);
}

}  // namespace rm
