#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/checkpoint/file_reader.h"

namespace rm {
namespace {

// Reads ranges before byte `end` of one file in ascending order. Small ones come out of a window: a
// slice along the last dim is many short runs.
class RangeReader {
public:
    RangeReader(std::string path, std::int64_t end) : path_(std::move(path)), end_(end) {}

    Status read(std::int64_t at, std::span<std::byte> out) {
        RM_RETURN_IF_ERROR(open());
        if (out.size() >= kWindowBytes) return file_->read(at, out);
        const auto out_end = at + static_cast<std::int64_t>(out.size());
        const auto have_end = window_at_ + static_cast<std::int64_t>(window_.size());
        if (at < window_at_ || out_end > have_end) {
            window_.resize(std::min(kWindowBytes, static_cast<std::size_t>(end_ - at)));
            window_at_ = at;
            RM_RETURN_IF_ERROR(file_->read(at, window_));
        }
        std::memcpy(out.data(), window_.data() + (at - window_at_), out.size());
        return {};
    }

private:
    static constexpr std::size_t kWindowBytes = std::size_t{1} << 18;

    Status open() {
        if (file_) return {};
        RM_TRY(file_, FileReader::open(path_));
        return {};
    }

    std::string path_;
    std::int64_t end_;
    std::optional<FileReader> file_;
    std::int64_t window_at_ = 0;
    std::vector<std::byte> window_;
};

std::int64_t entry_begin(const SafetensorsHeader& header, const std::string& name) {
    const auto entry = std::find_if(header.entries.begin(), header.entries.end(),
                                    [&](const auto& candidate) { return candidate.name == name; });
    RM_CHECK(entry != header.entries.end(), "verified entry {} is gone", name);
    return header.data_start + entry->begin;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& path, Verify verify) {
    auto verified = verify_checkpoint(path, verify);
    if (!verified) {
        return make_error(verified.error().code, "checkpoint {}: {}", path,
                          verified.error().message);
    }
    Checkpoint checkpoint;
    checkpoint.path_ = path;
    checkpoint.name_ = verified->manifest.name;
    checkpoint.state_ = std::move(verified->manifest.state);
    for (std::size_t i = 0; i < verified->manifest.shards.size(); ++i) {
        const ShardInfo& shard = verified->manifest.shards[i];
        for (const StoredSlice& stored : shard.slices) {
            const Slice& slice = stored.slice;
            checkpoint.tensors_.try_emplace(slice.tensor,
                                            whole_tensor(slice.tensor, slice.dtype, slice.shape));
            checkpoint.locations_[slice.tensor].push_back(
                {slice, path + "/" + shard.file, entry_begin(verified->headers[i], stored.entry)});
        }
    }
    return checkpoint;
}

Status Checkpoint::check_stored(const Slice& slice) const {
    const auto stored = tensors_.find(slice.tensor);
    if (stored == tensors_.end()) {
        return make_error(ErrorCode::not_found, "checkpoint {} has no tensor {} among its {}",
                          path_, slice.tensor, tensors_.size());
    }
    RM_RETURN_IF_ERROR(check_slice(slice));
    if (stored->second.shape == slice.shape && stored->second.dtype == slice.dtype) return {};
    return make_error(ErrorCode::failed_precondition, "checkpoint {} stores {}, asked for {}",
                      path_, to_string(stored->second), to_string(slice));
}

Status Checkpoint::read(const Slice& slice, std::span<std::byte> out) const {
    RM_RETURN_IF_ERROR(check_stored(slice));
    RM_CHECK(static_cast<std::int64_t>(out.size()) == num_bytes(slice), "{} bytes for {}",
             out.size(), to_string(slice));
    const std::int64_t size = size_of(slice.dtype);
    for (const Location& location : locations_.at(slice.tensor)) {
        RangeReader reader(location.file, location.at + num_bytes(location.slice));
        // Stored slices cover the tensor (verify_checkpoint), so together they fill `out`.
        RM_RETURN_IF_ERROR(for_each_overlap(
            location.slice, slice,
            [&](std::int64_t in_stored, std::int64_t in_out, std::int64_t count) {
                return reader.read(location.at + in_stored * size,
                                   out.subspan(static_cast<std::size_t>(in_out * size),
                                               static_cast<std::size_t>(count * size)));
            }));
    }
    return {};
}

}  // namespace rm
