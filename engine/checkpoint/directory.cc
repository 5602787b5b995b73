#include "engine/checkpoint/directory.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "engine/checkpoint/durable_file.h"
#include "engine/checkpoint/verify.h"
#include "engine/checkpoint/writer.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& dir, const CheckpointName& name) {
    return format("{}/{}", dir, name);
}

// Whole, and what its directory's name says.
Status verify_named(const std::string& dir, const CheckpointName& name) {
    RM_TRY(const VerifiedCheckpoint checkpoint,
           verify_checkpoint(path_of(dir, name), Verify::hashes));
    if (checkpoint.manifest.name == name) return {};
    return make_error(ErrorCode::data_loss, "{} is that of {}", kManifestFile,
                      checkpoint.manifest.name);
}

std::string join(const std::vector<std::string>& sentences) {
    std::string text;
    for (const std::string& sentence : sentences) {
        text += format("{}{}", text.empty() ? "" : "; ", sentence);
    }
    return text;
}

// What a crash left on the way to something newer than `found`.
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

// The checkpoints to remove, given those of one epoch, newest first.
std::vector<CheckpointName> surplus(const std::string& dir,
                                    const std::vector<CheckpointName>& checkpoints, int keep) {
    if (static_cast<int>(checkpoints.size()) <= keep) return {};
    const auto verifies = [&](const CheckpointName& name) { return verify_named(dir, name).ok(); };
    const auto good = std::find_if(checkpoints.begin(), checkpoints.end(), verifies);
    std::vector<CheckpointName> old(checkpoints.begin() + keep, checkpoints.end());
    if (good != checkpoints.end()) std::erase(old, *good);
    return old;
}

}  // namespace

Result<DirectoryListing> list_checkpoints(const std::string& dir) {
    DirectoryListing listing;
    std::error_code failure;
    fs::directory_iterator at(dir, failure);
    for (; !failure && at != fs::directory_iterator(); at.increment(failure)) {
        const std::string file = at->path().filename().string();
        if (const auto name = parse_checkpoint_name(file)) {
            listing.checkpoints.push_back(*name);
        } else if (file.starts_with(kTemporaryPrefix)) {
            std::string_view rest = std::string_view(file).substr(kTemporaryPrefix.size());
            const auto unfinished = parse_checkpoint_name(rest.substr(0, rest.find('.')));
            if (unfinished) listing.temporary.push_back({file, *unfinished});
        }
    }
    if (failure) return os_error("list", dir, failure.value());
    std::sort(listing.checkpoints.begin(), listing.checkpoints.end(), std::greater<>());
    std::sort(listing.temporary.begin(), listing.temporary.end(),
              [](const auto& a, const auto& b) { return a.name > b.name; });
    return listing;
}

Result<FoundCheckpoint> find_latest_checkpoint(const std::string& dir) {
    RM_TRY(const DirectoryListing listing, list_checkpoints(dir));
    FoundCheckpoint found;
    for (const CheckpointName& name : listing.checkpoints) {
        const Status verified = verify_named(dir, name);
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
        found.path = path_of(dir, name);
        return found;
    }
    if (found.notes.empty()) {
        return make_error(ErrorCode::not_found, "there is no checkpoint in {}", dir);
    }
    return make_error(ErrorCode::data_loss, "no checkpoint in {} is whole: {}", dir,
                      join(found.notes));
}

Result<std::vector<CheckpointName>> prune_checkpoints(const std::string& dir, Epoch epoch, int keep,
                                                      Faults& faults) {
    RM_CHECK(keep >= 1, "keep {} checkpoints; at least 1", keep);
    RM_TRY(DirectoryListing listing, list_checkpoints(dir));
    std::erase_if(listing.checkpoints,
                  [&](const CheckpointName& name) { return name.epoch != epoch; });
    std::vector<CheckpointName> old = surplus(dir, listing.checkpoints, keep);
    for (const CheckpointName& name : old) {
        // Renamed first, so that a crash half way leaves nothing that looks like a checkpoint.
        const std::string aside = temporary_path(dir, name) + ".removed";
        RM_RETURN_IF_ERROR(rename_path(path_of(dir, name), aside, faults));
        RM_RETURN_IF_ERROR(remove_tree(aside, faults));
    }
    return old;
}

}  // namespace rm
