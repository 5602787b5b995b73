#pragma once

#include <string>
#include <vector>

#include "base/result.h"

// The commands of Slurm on this machine.
namespace rm {

// An allocation as squeue shows it.
struct Allocation {
    std::string id;
    std::string nodes;       // how many; empty: not known
    std::string time_limit;  // likewise
};

// Whether sbatch is in PATH. FAILED_PRECONDITION says where to go without it.
Status check_sbatch();

// Gives the script to sbatch with the user's options for it, which are stronger than its own.
Result<Allocation> submit_batch(const std::string& script, const std::vector<std::string>& options);

}  // namespace rm
