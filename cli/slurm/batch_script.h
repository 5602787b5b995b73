#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// A job inside an allocation of Slurm: deploy/slurm/ringmaster.sbatch with its settings filled in.
namespace rm {

// deploy/slurm/ringmaster.sbatch, which the build puts into the program.
extern const std::string_view kBatchTemplate;

struct BatchSettings {
    std::string programs;          // the directory of the programs, on every node
    std::string directory;         // where relative paths of the job file begin
    std::string state;             // empty: the script's own, named after the allocation
    std::string devices;           // of each worker, or auto
    std::string ports;             // of each worker
    std::vector<std::string> set;  // KEY=VALUE, as in `submit --set`
    std::string job_name;          // in Slurm's queue
    std::string job_file;          // its text
};

// INVALID_ARGUMENT when the job file has the line that ends it in the script.
Result<std::string> batch_script(std::string_view text, const BatchSettings& settings);

}  // namespace rm
