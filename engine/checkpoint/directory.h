#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/manifest.h"

// Lists a directory of checkpoints, verifies them and removes old ones.
namespace rm {

constexpr std::string_view kTemporaryPrefix = ".tmp-";

struct TemporaryEntry {
    std::string file;
    CheckpointName name;
};

struct DirectoryListing {
    std::vector<CheckpointName> checkpoints;  // newest first; not verified
    std::vector<TemporaryEntry> temporary;    // unfinished or half removed
};
Result<DirectoryListing> list_checkpoints(const std::string& dir);

// Whether `path` is a checkpoint, by its manifest or, where that is missing, by its name, rather
// than a directory of checkpoints.
bool is_checkpoint(const std::string& path);

// data_loss for a directory of checkpoints, each with a note on why it is not whole.
Error none_is_whole(const std::string& dir, const std::vector<std::string>& notes);

// Verifies the checkpoint of that name; data_loss where its manifest names another.
Result<VerifiedCheckpoint> verify_named(const std::string& dir, const CheckpointName& name,
                                        Verify verify);
// The checkpoint at `path`, or the newest whole one of that directory of checkpoints, by sizes;
// adds a note for each that it passes over. not_found: there is none; errors of none_is_whole.
Result<Checkpoint> open_newest(const std::string& path, std::vector<std::string>& notes);
// One sentence, "checkpoint e2-s30 skipped: it was never finished (.tmp-e2-s30)", for each
// unfinished checkpoint newer than `found`.
std::vector<std::string> unfinished_notes(const DirectoryListing& listing,
                                          const CheckpointName& found);

// Remembers the state of a job's checkpoints, so that an attempt need not read them again.
struct KnownCheckpoints {
    Epoch epoch;                     // the attempt's own
    CheckpointName good;             // the newest that it has written, or read and verified
    std::set<CheckpointName> bad{};  // found damaged
};

// Removes the checkpoints of this and older epochs beyond the `keep` (at least 1) newest that are
// not known to be bad; returns their names. Never removes `good`, newer ones or those of a newer
// epoch. Reads none.
Result<std::vector<CheckpointName>> prune_checkpoints(const std::string& dir,
                                                      const KnownCheckpoints& known, int keep,
                                                      Faults& faults, Activity& activity);
// Removes the unfinished and half-removed checkpoints of attempts older than `epoch`.
Status remove_leftovers(const std::string& dir, Epoch epoch, Faults& faults);

}  // namespace rm
