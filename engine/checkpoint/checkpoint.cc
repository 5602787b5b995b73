#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

// The first byte of each entry in the file.
std::map<std::string_view, std::int64_t> entry_begins(const SafetensorsHeader& header) {
    std::map<std::string_view, std::int64_t> begins;
    for (const SafetensorsEntry& entry : header.entries)
        begins[entry.name] = header.data_start + entry.begin;
    return begins;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& path, Verify verify) {
    RM_TRY(VerifiedCheckpoint verified,
           within(format("checkpoint {}", path), verify_checkpoint(path, verify)));
    return Checkpoint(path, std::move(verified));
}

Checkpoint::Checkpoint(std::string path, VerifiedCheckpoint verified)
    : path_(std::move(path)),
      name_(verified.manifest.name),
      state_(std::move(verified.manifest.state)),
      shards_(std::move(verified.manifest.shards)) {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        const auto begins = entry_begins(verified.headers[i]);
        for (std::size_t j = 0; j < shards_[i].slices.size(); ++j) {
            const StoredSlice& stored = shards_[i].slices[j];
            const Slice& slice = stored.slice;
            tensors_.try_emplace(slice.tensor,
                                 whole_tensor(slice.tensor, slice.dtype, slice.shape));
            locations_[slice.tensor].push_back(
                {static_cast<int>(i), static_cast<int>(j), begins.at(stored.entry)});
        }
    }
}

Result<std::span<const Checkpoint::Location>> Checkpoint::locate(const Slice& slice) const {
    const auto stored = tensors_.find(slice.tensor);
    if (stored == tensors_.end()) {
        return make_error(ErrorCode::not_found, "checkpoint {} has no tensor {} among its {}",
                          path_, slice.tensor, tensors_.size());
    }
    RM_RETURN_IF_ERROR(check_slice(slice));
    if (stored->second.shape != slice.shape || stored->second.dtype != slice.dtype) {
        return make_error(ErrorCode::failed_precondition, "checkpoint {} stores {}, asked for {}",
                          path_, to_string(stored->second), to_string(slice));
    }
    return std::span<const Location>(locations_.at(slice.tensor));
}

}  // namespace rm
