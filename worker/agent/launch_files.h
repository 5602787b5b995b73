#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run/run_rank.h"
#include "spec/session.h"
#include "worker/dir/attempt_dir.h"

namespace rm {

// The terms that the daemon gives to every rank of this node.
struct RankTerms {
    OrphanPolicy orphan;
    std::vector<std::string> command;
    PortRange ports;                              // to listen on for ranks of other nodes
    Bytes memory;                                 // host memory that one rank may use; 0: unknown
    std::map<std::string, std::string> profiles;  // kind of device -> path of its measured profile
};

// The part of a launch that goes into attempt.json.
AttemptFile attempt_file_of(const LaunchAttempt& launch, const Inventory& inventory,
                            const RankTerms& terms);
// launch.json: the launch as commanded, for the hellos of later daemons. DATA_LOSS when it cannot
// be read.
std::string to_json(const LaunchAttempt& launch);
Result<LaunchAttempt> parse_launch(std::string_view text);
// `run_dir`: where rank 0 leaves metrics.jsonl.
RankConfig rank_config_of(const LaunchAttempt& launch, const RankLaunch& rank,
                          const Inventory& inventory, const RankTerms& terms,
                          const std::string& run_dir);

}  // namespace rm
