#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/train/run/run_rank.h"

namespace rm {

// Where ranks compute: "cpu", "cuda" (the first GPU) or "cuda:N". Ranks of one process may share a
// GPU.
struct RankDevice {
    enum class Kind { cpu, cuda };
    Kind kind = Kind::cpu;
    int index = 0;
};
Result<RankDevice> parse_rank_device(std::string_view text);

// The error says what is missing on this machine, or that the device lacks the job's precision.
Status check_rank_device(const RankDevice& device, const JobSpec& spec);

// The backend that computes a rank; errors as above.
Result<std::unique_ptr<Kernels>> make_rank_kernels(const RankDevice& device,
                                                   const RankConfig& config,
                                                   const std::string& tuning_file);

}  // namespace rm
