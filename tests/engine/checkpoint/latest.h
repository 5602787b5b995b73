#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/directory.h"

namespace rm {

struct FoundCheckpoint {
    std::string path;
    CheckpointName name;
    // One sentence for each newer checkpoint that was skipped: "checkpoint e1-s20 skipped:
    // shard-00001-of-00004.safetensors is 4096 bytes, the manifest says 8192; using e1-s10".
    std::vector<std::string> notes;
};

// Finds the highest (epoch, step) whose manifest and hashes verify. not_found: no checkpoint (or no
// `dir`); data_loss: none of the checkpoints verifies; the message has all reasons.
inline Result<FoundCheckpoint> find_latest_checkpoint(const std::string& dir) {
    RM_TRY(const DirectoryListing listing, list_checkpoints(dir));
    FoundCheckpoint found;
    for (const CheckpointName& name : listing.checkpoints) {
        const auto verified = verify_named(dir, name, Verify::hashes);
        if (!verified) {
            found.notes.push_back(
                format("checkpoint {} skipped: {}", name, verified.error().message));
            continue;
        }
        for (std::string& note : unfinished_notes(listing, name))
            found.notes.push_back(note);
        for (std::string& note : found.notes)
            note += format("; using {}", name);
        found.name = name;
        found.path = format("{}/{}", dir, name);
        return found;
    }
    if (found.notes.empty()) {
        return make_error(ErrorCode::not_found, "there is no checkpoint in {}", dir);
    }
    return none_is_whole(dir, found.notes);
}

}  // namespace rm
