#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
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

// Whether `path` is a checkpoint, by its manifest or, where that is missing, by its name; otherwise
// it can only be a directory of checkpoints.
bool is_checkpoint(const std::string& path);

// data_loss, for a directory of checkpoints of which `notes` say why each is none.
Error none_is_whole(const std::string& dir, const std::vector<std::string>& notes);

// The checkpoint of that name, verified; data_loss where its manifest is another's.
Result<VerifiedCheckpoint> verify_named(const std::string& dir, const CheckpointName& name,
                                        Verify verify);
// One sentence, "checkpoint e2-s30 skipped: it was never finished (.tmp-e2-s30)", on each thing
// that a crash left on the way to something newer than `found`.
std::vector<std::string> unfinished_notes(const DirectoryListing& listing,
                                          const CheckpointName& found);

// An attempt's knowledge of its job's checkpoints, which it need not read again.
struct KnownCheckpoints {
    Epoch epoch;                     // the attempt's own
    CheckpointName good;             // the newest that it has written, or read and verified
    std::set<CheckpointName> bad{};  // found damaged
};

// Removes what is older than the `keep` (at least 1) newest checkpoints that are not known to be
// bad, of this epoch and of older ones; returns those removed. Never `good` or what is newer, and
// never a newer epoch's. Looks into none.
Result<std::vector<CheckpointName>> prune_checkpoints(const std::string& dir,
                                                      const KnownCheckpoints& known, int keep,
                                                      Faults& faults, Activity& activity);
// Removes what attempts older than `epoch` left unfinished or half removed.
Status remove_leftovers(const std::string& dir, Epoch epoch, Faults& faults);

}  // namespace rm
