#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace rm::sim {

// A cluster's size, its work, and its faults with their rates; from a file of scenarios/.
struct Scenario {
    std::string name;
    int nodes = 3;
    int devices = 2;  // of each node
    int jobs = 5;
    int max_ranks = 3;                     // of a job
    int shared = 0;                        // nodes that declare roots have one checkpoint directory
    int roots = 0;                         // 1: all nodes but old ones declare roots
    int old_workers = 0;                   // nodes whose worker speaks the previous protocol
    double seconds = 200;                  // in which faults happen; then everything heals
    double exports = 0.5;                  // share of the jobs that publish an export
    double duplicate = 0;                  // share of the requests that arrive twice
    double lost_reply = 0;                 // share of the replies that never arrive
    double slow_commit = 0;                // share of the commits that take seconds
    std::map<std::string, double> faults;  // by name: mean seconds between two
};

// The error names the file and what is wrong in it.
Result<Scenario> load_scenario(const std::string& path);
// Every scenario of a directory, by name.
Result<std::vector<Scenario>> load_scenarios(const std::string& directory);

}  // namespace rm::sim
