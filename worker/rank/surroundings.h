#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/train/rank_config.h"

namespace rm {

// Makes this process see the rank's GPU alone, by its UUID, and keeps it on the cores, and so in
// the memory, of the GPU's NUMA node. Call it before any other thread exists and before CUDA
// starts. Does nothing for other devices.
void enter_surroundings(const RankConfig& config);

// "0-2,8" is {0, 1, 2, 8}; empty if the text is no list of cores.
std::vector<int> parse_cores(std::string_view text);

}  // namespace rm
