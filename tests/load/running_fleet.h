#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rm::load {

struct FleetLoad {
    int nodes = 64;
    int devices = 8;  // of each node
    double steps_per_second = 1;
};

// Workers of a fleet as far as a controller can tell, and one job with a rank on every device: its
// ranks report step after step.
class RunningFleet {
public:
    // Returns once the controller has kept the first step of every rank.
    RunningFleet(const std::string& controller, const FleetLoad& load);
    ~RunningFleet();

    const std::string& job() const { return job_; }
    long num_steps() const { return steps_; }  // begun since the start
    long num_kept() const;                     // the controller has so many steps of all ranks

private:
    class Node;
    void wait_for_first_steps() const;
    void report();

    const FleetLoad load_;
    std::string job_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::atomic<long> steps_ = 0;
    std::atomic<bool> stopping_ = false;
    std::thread reporter_;
};

}  // namespace rm::load
