#include "tests/sim/faults.h"

#include <functional>
#include <iterator>
#include <map>

#include "tests/sim/cluster.h"

namespace rm::sim {
namespace {

using Fault = std::function<void(Cluster&)>;

// Mostly short, sometimes longer than any timeout.
double some_time(Cluster& c) {
    return c.sim.chance(0.2) ? c.sim.between(60, 250) : c.sim.between(0.5, 30);
}

void on_some_rank(Cluster& c, const std::function<void(const Seat&)>& fault) {
    const std::vector<Seat> living = c.runs.living();
    if (!living.empty()) fault(living[c.sim.below(living.size())]);
}

void crash_rank(Cluster& c) {
    on_some_rank(c, [&](const Seat& seat) {
        const int kinds[] = {kRankFailed,      kRankFailed,      kRankLostPeer,
                             kRankOutOfMemory, kRankDeviceFault, kRankBadFiles};
        const int signals[] = {9, 11, 6};
        const bool signalled = c.sim.chance(0.4);
        const int code = signalled ? 0 : kinds[c.sim.below(std::size(kinds))];
        const int signal = signalled ? signals[c.sim.below(std::size(signals))] : 0;
        seat.worker->exit_rank(*seat.shim, *seat.rank, code, signal, signalled ? "" : "words");
    });
}

void hang_rank(Cluster& c) {
    on_some_rank(c, [&](const Seat& seat) {
        c.sim.say("rank {} of {} hangs", seat.rank->rank, seat.shim->launch.epoch);
        seat.rank->hung = true;
    });
}

void suspend_rank(Cluster& c) {
    on_some_rank(c, [&](const Seat& seat) {
        c.sim.say("rank {} of {} is suspended", seat.rank->rank, seat.shim->launch.epoch);
        seat.rank->suspended = true;
        SimWorker* worker = seat.worker;
        const Epoch epoch = seat.shim->launch.epoch;
        c.sim.after(some_time(c), [worker, epoch] {
            const auto shim = worker->shims().find(epoch);
            if (shim == worker->shims().end()) return;
            for (SimRank& rank : shim->second.ranks)
                rank.suspended = false;
        });
    });
}

void kill_shim(Cluster& c) {
    on_some_rank(c, [](const Seat& seat) { seat.worker->kill_shim(*seat.shim); });
}

void cut(Cluster& c, Way way) {
    const int node = static_cast<int>(c.sim.below(c.workers.size()));
    c.sim.say("cut n{} {}", node, way == Way::to_worker ? "from the controller" : "to it");
    c.network.cut(node, way);
    c.sim.after(some_time(c), [&c, node, way] { c.network.heal(node, way); });
}

void cut_data(Cluster& c) {
    const int node = static_cast<int>(c.sim.below(c.workers.size()));
    c.sim.say("cut n{} from its peers", node);
    c.runs.cut_data(node);
    c.sim.after(some_time(c), [&c, node] { c.runs.heal_data(node); });
}

// The provider reports the machine as gone; later one with its disk appears again.
void lose_node(Cluster& c) {
    SimWorker& worker = c.some_worker();
    if (!worker.powered()) return;
    worker.kill_node(c.sim.between(30, 120));
    c.sim.after(c.sim.between(1, 20), [&c, &worker] {
        if (!worker.powered()) c.controller.post(NodeGone{worker.id(), "says its provider"});
    });
}

// Survey findings: a link falls far below its baseline, or a degraded one recovers.
void drift(Cluster& c) {
    const auto& degraded = c.controller.state().degraded_links;
    if (degraded.empty() || c.sim.chance(0.5)) {
        const NodeId from = c.some_worker().id();
        const NodeId to = c.some_worker().id();
        return c.controller.post(LinkDrifted{from, to, {10}, {3}, true});
    }
    auto link = degraded.begin();
    std::advance(link, c.sim.below(degraded.size()));
    c.controller.post(LinkDrifted{link->first.first, link->first.second, {10}, {9.5}, false});
}

// A second controller that should not run briefly commands a worker, with an old epoch or one that
// was never issued.
void twin(Cluster& c) {
    SimWorker& worker = c.some_worker();
    const std::int64_t highest = worker.highest_epoch().value;
    const bool past = c.sim.chance(0.5) && highest > 1;
    const std::int64_t unheard = 1000 + static_cast<std::int64_t>(c.sim.below(1000));
    LaunchAttempt launch;
    launch.epoch = {
        past ? 1 + static_cast<std::int64_t>(c.sim.below(static_cast<std::size_t>(highest - 1)))
             : highest + unheard};
    launch.job = {format("t{:05}", launch.epoch.value % 100'000)};
    launch.spec.name = "twin";
    launch.spec.model.preset = "tiny";
    launch.spec.data.sources = {{"/data/text"}};
    launch.spec.stages = {StageSpec{.context = 8192, .batch = 8192, .tokens = 8192 * 12}};
    launch.plan.mesh = Mesh::make(1, 1, 1, 1).value();
    launch.ranks = {
        {0, static_cast<int>(c.sim.below(static_cast<std::size_t>(c.scenario.devices)))}};
    worker.obey_twin(launch);
}

const std::map<std::string, Fault>& faults() {
    static const std::map<std::string, Fault> table{
        {"kill_controller", [](Cluster& c) { c.controller.kill("killed"); }},
        {"kill_worker", [](Cluster& c) { c.some_worker().kill_daemon(); }},
        {"kill_node", [](Cluster& c) { c.some_worker().kill_node(some_time(c)); }},
        {"lose_node", lose_node},
        {"crash_rank", crash_rank},
        {"hang_rank", hang_rank},
        {"suspend_rank", suspend_rank},
        {"kill_shim", kill_shim},
        {"cut_to_controller", [](Cluster& c) { cut(c, Way::to_controller); }},
        {"cut_to_worker", [](Cluster& c) { cut(c, Way::to_worker); }},
        {"cut_data", cut_data},
        {"drop_session", [](Cluster& c) { c.some_worker().drop_session(); }},
        {"fill_controller_disk", [](Cluster& c) { c.controller.fill_disk(some_time(c)); }},
        {"fill_worker_disk", [](Cluster& c) { c.some_worker().fill_disk(some_time(c)); }},
        {"lose_root", [](Cluster& c) { c.some_worker().lose_root(some_time(c)); }},
        {"jump_clock",
         [](Cluster& c) {
             c.controller.jump_clock(c.sim.chance(0.3) ? c.sim.between(0, 4000)
                                                       : c.sim.between(-60, 60));
         }},
        {"cancel", [](Cluster& c) { c.clients.cancel(); }},
        {"drain", [](Cluster& c) { c.clients.drain(c.some_worker().id()); }},
        {"drift", drift},
        {"list", [](Cluster& c) { c.clients.list(); }},
        {"back_up", [](Cluster& c) { c.controller.back_up(); }},
        {"restore", [](Cluster& c) { c.controller.restore(); }},
        {"twin", twin}};
    return table;
}

void schedule(Cluster& c, const std::string& name, double mean) {
    c.sim.after(c.sim.exponential(mean), [&c, name, mean] {
        if (!c.faults_go_on()) return;
        faults().at(name)(c);
        schedule(c, name, mean);
    });
}

}  // namespace

std::vector<std::string> fault_names() {
    std::vector<std::string> names;
    for (const auto& [name, fault] : faults())
        names.push_back(name);
    return names;
}

void start_faults(Cluster& cluster) {
    for (const auto& [name, mean] : cluster.scenario.faults)
        schedule(cluster, name, mean);
}

}  // namespace rm::sim
