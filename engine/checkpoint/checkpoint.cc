#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "engine/checkpoint/durable_file.h"
#include "engine/data/file/hash.h"

namespace rm {
namespace {

// The first byte of each entry in the file.
std::map<std::string_view, std::int64_t> entry_begins(const SafetensorsHeader& header) {
    std::map<std::string_view, std::int64_t> begins;
    for (const SafetensorsEntry& entry : header.entries)
        begins[entry.name] = header.data_start + entry.begin;
    return begins;
}

constexpr std::int64_t kBlockBytes = 1 << 20;

Status check_size(const std::string& path, const ShardInfo& shard) {
    std::error_code failure;
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, failure));
    if (failure == std::errc::no_such_file_or_directory)
        return data_loss("{} is missing", shard.file);
    if (failure) return data_loss("{} cannot be read: {}", shard.file, failure.message());
    if (bytes == shard.bytes) return {};
    return data_loss("{} is {} bytes, the manifest says {}", shard.file, bytes, shard.bytes);
}

Status check_hash(const std::string& path, const ShardInfo& shard) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return data_loss("{} cannot be read: {}", shard.file,
                         std::generic_category().message(errno));
    }
    std::vector<char> block(usize(std::clamp<std::int64_t>(shard.bytes, 1, kBlockBytes)));
    Xxh3 hash;
    while (file) {
        file.read(block.data(), static_cast<std::streamsize>(block.size()));
        hash.update(std::string_view(block.data(), usize(file.gcount())));
    }
    if (hash.hex() == shard.hash) return {};
    return data_loss("{} has hash {}, the manifest says {}", shard.file, hash.hex(), shard.hash);
}

// Checks that each slice of the table has an entry of its size and type.
Status check_entries(const ShardInfo& shard, const SafetensorsHeader& header) {
    std::map<std::string_view, const SafetensorsEntry*> entries;
    for (const SafetensorsEntry& entry : header.entries)
        entries[entry.name] = &entry;
    for (const StoredSlice& stored : shard.slices) {
        const auto found = entries.find(stored.entry);
        if (found == entries.end()) return data_loss("{} has no {}", shard.file, stored.entry);
        const SafetensorsEntry& entry = *found->second;
        if (entry.type != storage_of(stored.slice.dtype) ||
            entry.end - entry.begin != num_bytes(stored.slice)) {
            return data_loss("{} holds {} as {} bytes of {}, the manifest says {}", shard.file,
                             stored.entry, entry.end - entry.begin, to_string(entry.type),
                             to_string(stored.slice));
        }
    }
    return {};
}

Result<SafetensorsHeader> verify_shard(const std::string& directory, const ShardInfo& shard,
                                       Verify verify) {
    const std::string path = directory + "/" + shard.file;
    RM_RETURN_IF_ERROR(check_size(path, shard));
    if (verify == Verify::hashes) RM_RETURN_IF_ERROR(check_hash(path, shard));
    RM_TRY(SafetensorsHeader header, within(shard.file, read_safetensors_header(path)));
    RM_RETURN_IF_ERROR(check_entries(shard, header));
    return header;
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

Result<VerifiedCheckpoint> verify_checkpoint(const std::string& path, Verify verify) {
    const std::string manifest_path = format("{}/{}", path, kManifestFile);
    const auto text = read_file(manifest_path);
    if (!text) return data_loss("{}", text.error().message);
    VerifiedCheckpoint verified;
    RM_TRY(verified.manifest, within(kManifestFile, parse_manifest(*text)));
    for (const ShardInfo& shard : verified.manifest.shards) {
        RM_TRY(SafetensorsHeader header, verify_shard(path, shard, verify));
        verified.headers.push_back(std::move(header));
    }
    // Runs after the size checks, so that the files' real sizes bound the work.
    if (auto complete = check_complete(verified.manifest.shards); !complete) {
        return data_loss("{}: {}", kManifestFile, complete.error().message);
    }
    return verified;
}

}  // namespace rm
