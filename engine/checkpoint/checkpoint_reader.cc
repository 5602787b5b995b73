#include "engine/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <cstring>

#include "engine/checkpoint/manifest.h"

namespace rm {
namespace {

std::int64_t block_bytes_of(const ShardInfo& shard) {
    return shard.block_bytes > 0 ? shard.block_bytes : kHashBlockBytes;
}

}  // namespace

Status CheckpointReader::read(const Slice& slice, std::span<std::byte> out) {
    RM_TRY(const std::span<const Location> locations, checkpoint_.locate(slice));
    RM_CHECK(static_cast<std::int64_t>(out.size()) == num_bytes(slice), "{} bytes for {}",
             out.size(), to_string(slice));
    const std::int64_t size = size_of(slice.dtype);
    for (const Location& location : locations) {
        // Stored slices cover the tensor (verify_checkpoint), so together they fill `out`.
        RM_RETURN_IF_ERROR(for_each_overlap(
            stored_at(location).slice, slice,
            [&](std::int64_t in_stored, std::int64_t in_out, std::int64_t count) {
                return read_range(location, in_stored * size,
                                  out.subspan(usize(in_out * size), usize(count * size)));
            }));
    }
    return {};
}

Status CheckpointReader::read_range(const Location& location, std::int64_t at,
                                    std::span<std::byte> out) {
    const std::int64_t total = num_bytes(stored_at(location).slice);
    const std::int64_t block_bytes = block_bytes_of(shard_of(location));
    while (!out.empty()) {
        const std::int64_t index = at / block_bytes;
        const std::int64_t begin = index * block_bytes;
        const auto size = usize(std::min(block_bytes, total - begin));
        const auto skip = usize(at - begin);
        const std::size_t count = std::min(out.size(), size - skip);
        if (count == size) {
            RM_RETURN_IF_ERROR(read_block(location, index, out.first(size)));
        } else {
            if (kept_ != &location || kept_index_ != index) {
                kept_ = nullptr;
                block_.resize(size);
                RM_RETURN_IF_ERROR(read_block(location, index, block_));
                kept_ = &location;
                kept_index_ = index;
            }
            std::memcpy(out.data(), block_.data() + skip, count);
        }
        out = out.subspan(count);
        at += static_cast<std::int64_t>(count);
    }
    return {};
}

Status CheckpointReader::read_block(const Location& location, std::int64_t index,
                                    std::span<std::byte> out) {
    const ShardInfo& shard = shard_of(location);
    if (shard.block_bytes == 0) RM_RETURN_IF_ERROR(verify_file(location.shard));
    RM_RETURN_IF_ERROR(read_file(location.shard, location.at + index * block_bytes_of(shard), out));
    if (shard.block_bytes == 0) return {};
    const StoredSlice& stored = stored_at(location);
    const std::string hash = xxh3_hex(out);
    const std::string& expected = stored.block_hashes[usize(index)];
    if (hash == expected) return {};
    return data_loss("{} is damaged: block {} of {} has hash {}, the manifest says {}", shard.file,
                     index, stored.entry, hash, expected);
}

// An unreadable disk counts as data_loss, like one that returns wrong bytes.
Status CheckpointReader::read_file(int shard, std::int64_t at, std::span<std::byte> out) {
    if (options_.activity != nullptr) RM_RETURN_IF_ERROR(options_.activity->check());
    pass_slowly(options_.faults, "checkpoint.slow_read");
    const std::string& file = checkpoint_.shards()[usize(shard)].file;
    if (open_shard_ != shard) {
        auto opened = FileReader::open(checkpoint_.path() + "/" + file);
        if (!opened) return data_loss("{}", opened.error().message);
        file_ = std::move(*opened);
        open_shard_ = shard;
    }
    const Status read = file_->read(at, out);
    if (!read) return data_loss("{}", read.error().message);
    bytes_read_ += static_cast<std::int64_t>(out.size());
    if (options_.activity != nullptr)
        options_.activity->done += static_cast<std::int64_t>(out.size());
    return {};
}

Status CheckpointReader::verify_file(int shard) {
    if (verified_files_.contains(shard)) return {};
    const ShardInfo& info = checkpoint_.shards()[usize(shard)];
    std::vector<std::byte> piece(usize(std::min(info.bytes, kHashBlockBytes)));
    Xxh3 hash;
    for (std::int64_t at = 0; at < info.bytes; at += kHashBlockBytes) {
        const std::span part(piece.data(), usize(std::min(kHashBlockBytes, info.bytes - at)));
        RM_RETURN_IF_ERROR(read_file(shard, at, part));
        hash.update(part);
    }
    const std::string found = hash.hex();
    if (found != info.hash) {
        return data_loss("{} has hash {}, the manifest says {}", info.file, found, info.hash);
    }
    verified_files_.insert(shard);
    return {};
}

}  // namespace rm
