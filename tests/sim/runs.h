#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/sim/controller.h"
#include "tests/sim/worker.h"

// The joint actions of an attempt's ranks: meet, step, write checkpoints, ask to publish, end.
namespace rm::sim {

using Workers = std::vector<std::unique_ptr<SimWorker>>;

// A rank and where it is.
struct Seat {
    SimWorker* worker = nullptr;
    SimShim* shim = nullptr;
    SimRank* rank = nullptr;
};

class Runs {
public:
    struct Parts {
        Simulator& sim;
        Truth& truth;
        SimController& controller;
        Workers& workers;
    };
    explicit Runs(Parts parts) : parts_(parts), sim_(parts.sim) {}

    void launched(const LaunchAttempt& launch);
    // Ranks on this node no longer hear ranks on other nodes.
    void cut_data(int node) { data_cuts_.insert(node); }
    void heal_data(int node) { data_cuts_.erase(node); }
    std::vector<Seat> living() const;  // of every attempt

private:
    struct Run {
        LaunchAttempt launch;
        bool ticking = false;
        bool met = false;
        Checkpoint parent;
        Checkpoint now;  // the weights in its memory
        std::int64_t written = 0;
        double moved = 0;  // when it last made progress
        bool asking = false;
        bool granted = false;
        int refusals = 0;
    };

    std::vector<Seat> seats(Epoch epoch) const;
    void tick(Epoch epoch);
    void lose_peers(const std::vector<Seat>& seats);
    static void wait_for_the_sick(const std::vector<Seat>& seats);
    void meet(Run& run, const std::vector<Seat>& seats);
    void advance(Run& run, const std::vector<Seat>& seats);
    void write_checkpoint(Run& run, const std::vector<Seat>& seats);
    void finish(Run& run, const std::vector<Seat>& seats);
    void ask_to_publish(Run& run);
    void answered(Epoch epoch, const Result<JobId>& answer);
    void publish(Epoch epoch);
    void exit_all(const std::vector<Seat>& seats, int code, const std::string& words);
    bool hear_each_other(const std::vector<Seat>& seats) const;

    const Parts parts_;
    Simulator& sim_;
    std::map<Epoch, Run> runs_;
    std::set<int> data_cuts_;
};

}  // namespace rm::sim
