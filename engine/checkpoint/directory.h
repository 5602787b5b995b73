#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/result.h"
#include "engine/checkpoint/manifest.h"

// A directory of checkpoints: which are there, which is the newest good one, which may go.
namespace rm {

constexpr std::string_view kTemporaryPrefix = ".tmp-";

struct TemporaryEntry {
    std::string file;
    CheckpointName name;
};

struct DirectoryListing {
    std::vector<CheckpointName> checkpoints;  // newest first; not looked into
    std::vector<TemporaryEntry> temporary;    // unfinished or half removed
};
Result<DirectoryListing> list_checkpoints(const std::string& dir);

struct FoundCheckpoint {
    std::string path;
    CheckpointName name;
    // One sentence for every newer one that was passed over: "checkpoint e1-s20 skipped:
    // shard-00001-of-00004.safetensors is 4096 bytes, the manifest says 8192; using e1-s10".
    std::vector<std::string> notes;
};

// The highest (epoch, step) whose manifest and hashes verify. not_found: there is no checkpoint (or
// no `dir`); data_loss: there are some and none verifies, with all reasons.
Result<FoundCheckpoint> find_latest_checkpoint(const std::string& dir);

// Removes the checkpoints of `epoch` but for its `keep` (at least 1) newest, and returns those
// removed. Never another epoch's, and never the newest of this one that verifies, however old.
Result<std::vector<CheckpointName>> prune_checkpoints(const std::string& dir, Epoch epoch, int keep,
                                                      Faults& faults);

}  // namespace rm
