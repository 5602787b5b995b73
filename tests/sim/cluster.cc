#include "tests/sim/cluster.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "tests/sim/faults.h"

namespace rm::sim {
namespace {

constexpr double kPatience = 4 * 3600;
constexpr double kGlance = 5;
constexpr int kThreads = 2;

}  // namespace

Cluster::Cluster(const Scenario& scenario_, std::uint64_t seed, Plant plant, Tracing tracing)
    : sim(seed, tracing),
      scenario(scenario_),
      network(sim, [this](int stream, Way way, const Packet& p) { deliver(stream, way, p); }),
      controller({sim, network, truth, plant, scenario_.slow_commit}),
      runs({sim, truth, controller, workers}),
      clients({sim, truth, controller, scenario}) {
    for (int index = 0; index < scenario.nodes && scenario.roots > 0; ++index)
        truth.keeps_checkpoints({format("n{}", index)}, index < scenario.shared ? 0 : index + 1);
    for (int index = 0; index < scenario.nodes; ++index) {
        workers.push_back(std::make_unique<SimWorker>(SimWorker::Parts{
            .sim = sim,
            .network = network,
            .truth = truth,
            .plant = plant,
            .index = index,
            .num_devices = scenario.devices,
            .old = index<scenario.old_workers, .roots = scenario.roots> 0 &&
                   index >= scenario.old_workers,
            .shares = &shares[index < scenario.shared ? 0 : index + 1],
            .on_launch = [this](const LaunchAttempt& launch) { runs.launched(launch); }}));
    }
}

void Cluster::deliver(int stream, Way way, const Packet& packet) {
    if (way == Way::to_worker) {
        workers[static_cast<std::size_t>(network.node_of(stream))]->receive(stream, packet);
    } else if (controller.up()) {
        controller.receive(stream, packet);
    } else if (!std::holds_alternative<Close>(packet)) {
        network.send(stream, Way::to_worker, Close{});
    }
}

void Cluster::run() {
    controller.start();
    for (const auto& worker : workers)
        sim.after(sim.between(0, 5), [&worker] { worker->start_daemon(); });
    clients.start();
    start_faults(*this);
    while (sim.now() < scenario.seconds && sim.step()) {
    }
    heal();
    double next_glance = sim.now();
    while (sim.step()) {
        if (sim.now() < next_glance) continue;
        next_glance = sim.now() + kGlance;
        const std::string left = unfinished();
        if (left.empty()) return count_ends();
        RM_CHECK(sim.now() < scenario.seconds + kPatience, "after {} it has not ended: {}",
                 Seconds{sim.now()}, left);
    }
}

void Cluster::heal() {
    sim.say("everything heals");
    healed_ = true;
    std::vector<NodeId> nodes;
    for (const auto& worker : workers) {
        const int node = std::stoi(worker->id().value.substr(1));
        network.heal(node, Way::to_worker);
        network.heal(node, Way::to_controller);
        runs.heal_data(node);
        worker->fill_disk(0);
        worker->lose_root(0);
        nodes.push_back(worker->id());
    }
    for (const Seat& seat : runs.living())
        seat.rank->hung = seat.rank->suspended = false;
    clients.calm_down(nodes);
    controller.fill_disk(0);
}

void Cluster::count_ends() {
    for (const auto& [id, job] : controller.durable().jobs)
        sim.count(format("job {}", to_string(job.state)));
    for (const auto& [epoch, attempt] : controller.durable().attempts) {
        sim.count(format("attempt {}", to_string(attempt.state)));
        if (attempt.failure_class == FailureClass::none) continue;
        sim.count(format("class {}", to_string(attempt.failure_class)));
    }
}

std::string Cluster::unfinished() const {
    if (!controller.up()) return "the controller is down";
    if (!clients.all_answered()) return "a submit has no answer";
    for (const auto& worker : workers) {
        if (!controller.has_session(worker->id())) return format("{} has no session", worker->id());
    }
    for (const auto& [id, job] : controller.durable().jobs) {
        if (is_terminal(job.state)) continue;
        return format(
            "job {} is {}{}", id, to_string(job.state),
            job.blocking_reasons.empty() ? "" : ": " + to_string(job.blocking_reasons.front()));
    }
    if (truth.anything_runs()) return "processes are left";
    const auto holders = device_holders(controller.state());
    if (holders.empty()) return {};
    return format("device {} is held by attempt {}", holders.begin()->first,
                  holders.begin()->second.epoch);
}

Verdict run_seed(const Scenario& scenario, std::uint64_t seed, Plant plant, Tracing tracing) {
    Verdict verdict{.scenario = scenario.name, .seed = seed};
    Cluster cluster(scenario, seed, plant, tracing);
    try {
        cluster.run();
    } catch (const CheckError& broken) {
        if (tracing == Tracing::off) return run_seed(scenario, seed, plant, Tracing::on);
        verdict.failure = broken.what();
        verdict.last_lines.assign(cluster.sim.last_lines().begin(), cluster.sim.last_lines().end());
    }
    verdict.hash = cluster.sim.hash();
    verdict.num_events = cluster.sim.num_events();
    verdict.seconds = cluster.sim.now();
    verdict.counts = cluster.sim.counts();
    return verdict;
}

Campaign run_seeds(const std::vector<Scenario>& scenarios, std::uint64_t first, std::uint64_t last,
                   Plant plant) {
    Campaign campaign;
    std::vector<Verdict>& failures = campaign.failures;
    std::mutex mutex;
    std::atomic<std::uint64_t> next = first;
    const auto work = [&] {
        for (std::uint64_t seed = next++; seed <= last; seed = next++) {
            Verdict verdict = run_seed(scenarios[seed % scenarios.size()], seed, plant);
            const std::lock_guard lock(mutex);
            for (const auto& [thing, count] : verdict.counts)
                campaign.counts[thing] += count;
            if (verdict.failure.empty()) continue;
            failures.push_back(std::move(verdict));
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back(work);
    for (std::thread& thread : threads)
        thread.join();
    std::sort(failures.begin(), failures.end(),
              [](const Verdict& a, const Verdict& b) { return a.seed < b.seed; });
    return campaign;
}

std::string to_string(const Verdict& verdict) {
    std::string text = format("scenario {}, seed {}: {}\n", verdict.scenario, verdict.seed,
                              verdict.failure.empty() ? "well" : verdict.failure);
    for (const std::string& line : verdict.last_lines)
        text += "    " + line + '\n';
    return text;
}

}  // namespace rm::sim
