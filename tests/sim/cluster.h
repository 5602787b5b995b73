#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/clients.h"
#include "tests/sim/runs.h"
#include "tests/sim/scenario.h"

// A whole cluster in one thread: wires the parts, lets faults happen for the scenario's time, heals
// everything and waits until every job has ended.
namespace rm::sim {

class Cluster {
public:
    Cluster(const Scenario& scenario, std::uint64_t seed, Plant plant, Tracing tracing);
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    void run();  // throws CheckError when something happens that must not

    Simulator sim;
    const Scenario scenario;
    Truth truth;
    Network network;
    SimController controller;
    std::map<int, std::set<std::string>> shares;  // nonces by directory: 0, or a node's own
    Workers workers;
    Runs runs;
    Clients clients;

    SimWorker& some_worker() { return *workers[sim.below(workers.size())]; }
    bool faults_go_on() const { return !healed_; }

private:
    void deliver(int stream, Way way, const Packet& packet);
    void heal();
    void count_ends();
    std::string unfinished() const;  // empty: everything has ended

    bool healed_ = false;
};

// The outcome of one seed.
struct Verdict {
    std::string scenario;
    std::uint64_t seed = 0;
    std::string failure;  // empty: nothing went wrong
    std::vector<std::string> last_lines;
    std::uint64_t hash = 0;
    std::uint64_t num_events = 0;
    double seconds = 0;  // virtual
    std::map<std::string, int> counts;
    bool operator==(const Verdict&) const = default;
};
// Runs a failure again with a trace, to get its last lines.
Verdict run_seed(const Scenario& scenario, std::uint64_t seed, Plant plant = Plant::none,
                 Tracing tracing = Tracing::off);
// Runs seeds on two threads; the scenarios take turns. Holds the failures by seed.
struct Campaign {
    std::vector<Verdict> failures;
    std::map<std::string, int> counts;  // over all seeds
};
Campaign run_seeds(const std::vector<Scenario>& scenarios, std::uint64_t first, std::uint64_t last,
                   Plant plant = Plant::none);
std::string to_string(const Verdict& verdict);

}  // namespace rm::sim
