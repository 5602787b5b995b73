#include "engine/checkpoint/directory.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/text.h"
#include "engine/checkpoint/durable_file.h"
#include "engine/checkpoint/writer.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& dir, const CheckpointName& name) {
    return format("{}/{}", dir, name);
}

// Chooses the checkpoints to remove from those of this epoch and older ones, newest first.
std::vector<CheckpointName> surplus(const std::vector<CheckpointName>& checkpoints,
                                    const KnownCheckpoints& known, int keep) {
    std::vector<CheckpointName> old;
    int kept = 0;
    for (const CheckpointName& name : checkpoints) {
        const bool stays = !known.bad.contains(name) && kept < keep;
        kept += stays ? 1 : 0;
        if (!stays && name < known.good) old.push_back(name);
    }
    return old;
}

}  // namespace

Result<VerifiedCheckpoint> verify_named(const std::string& dir, const CheckpointName& name,
                                        Verify verify) {
    RM_TRY(VerifiedCheckpoint checkpoint, verify_checkpoint(path_of(dir, name), verify));
    if (checkpoint.manifest.name == name) return checkpoint;
    return data_loss("{} is that of {}", kManifestFile, checkpoint.manifest.name);
}

Result<Checkpoint> open_newest(const std::string& path, std::vector<std::string>& notes) {
    if (is_checkpoint(path)) return Checkpoint::open(path, Verify::sizes);
    RM_TRY(const DirectoryListing listing, list_checkpoints(path));
    for (const CheckpointName& name : listing.checkpoints) {
        auto verified = verify_named(path, name, Verify::sizes);
        if (verified) return Checkpoint(format("{}/{}", path, name), std::move(*verified));
        notes.push_back(format("checkpoint {} skipped: {}", name, verified.error().message));
    }
    if (notes.empty())
        return make_error(ErrorCode::not_found, "there is no checkpoint in {}", path);
    return none_is_whole(path, notes);
}

std::vector<std::string> unfinished_notes(const DirectoryListing& listing,
                                          const CheckpointName& found) {
    std::vector<std::string> notes;
    for (const TemporaryEntry& entry : listing.temporary) {
        if (entry.name <= found) continue;
        notes.push_back(
            format("checkpoint {} skipped: it was never finished ({})", entry.name, entry.file));
    }
    return notes;
}

Result<DirectoryListing> list_checkpoints(const std::string& dir) {
    DirectoryListing listing;
    RM_TRY(const std::vector<std::string> files, names_in(dir));
    for (const std::string& file : files) {
        if (const auto name = parse_checkpoint_name(file)) {
            listing.checkpoints.push_back(*name);
        } else if (file.starts_with(kTemporaryPrefix)) {
            std::string_view rest = std::string_view(file).substr(kTemporaryPrefix.size());
            const auto unfinished = parse_checkpoint_name(rest.substr(0, rest.find('.')));
            if (unfinished) listing.temporary.push_back({file, *unfinished});
        }
    }
    std::sort(listing.checkpoints.begin(), listing.checkpoints.end(), std::greater<>());
    std::sort(listing.temporary.begin(), listing.temporary.end(),
              [](const auto& a, const auto& b) { return a.name > b.name; });
    return listing;
}

bool is_checkpoint(const std::string& path) {
    std::error_code failure;
    if (fs::exists(fs::path(path) / kManifestFile, failure)) return true;
    const fs::path full(path);
    const fs::path last = full.has_filename() ? full : full.parent_path();
    return parse_checkpoint_name(last.filename().string()).has_value();
}

Error none_is_whole(const std::string& dir, const std::vector<std::string>& notes) {
    return {ErrorCode::data_loss,
            format("no checkpoint in {} is whole: {}", dir, join(notes, "; ")),
            ErrorFact::no_whole_checkpoint};
}

Result<std::vector<CheckpointName>> prune_checkpoints(const std::string& dir,
                                                      const KnownCheckpoints& known, int keep,
                                                      Faults& faults, Activity& activity) {
    RM_CHECK(keep >= 1, "keep {} checkpoints; at least 1", keep);
    RM_TRY(DirectoryListing listing, list_checkpoints(dir));
    std::erase_if(listing.checkpoints,
                  [&](const CheckpointName& name) { return name.epoch > known.epoch; });
    std::vector<CheckpointName> old = surplus(listing.checkpoints, known, keep);
    for (const CheckpointName& name : old) {
        RM_RETURN_IF_ERROR(activity.check());
        // Renamed first, so that a crash half way leaves nothing with a checkpoint's name.
        const std::string aside = temporary_path(dir, name) + ".removed";
        RM_RETURN_IF_ERROR(rename_path(path_of(dir, name), aside, faults));
        RM_RETURN_IF_ERROR(remove_tree(aside, faults));
        ++activity.done;
    }
    return old;
}

Status remove_leftovers(const std::string& dir, Epoch epoch, Faults& faults) {
    RM_TRY(const DirectoryListing listing, list_checkpoints(dir));
    for (const TemporaryEntry& entry : listing.temporary) {
        if (entry.name.epoch < epoch)
            RM_RETURN_IF_ERROR(remove_tree(dir + "/" + entry.file, faults));
    }
    return {};
}

}  // namespace rm
