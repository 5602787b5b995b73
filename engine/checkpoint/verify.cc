#include "engine/checkpoint/verify.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "engine/checkpoint/durable_file.h"
#include "engine/data/hash.h"

namespace rm {
namespace {

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
    std::vector<char> block(
        static_cast<std::size_t>(std::clamp<std::int64_t>(shard.bytes, 1, kBlockBytes)));
    Xxh3 hash;
    while (file) {
        file.read(block.data(), static_cast<std::streamsize>(block.size()));
        hash.update(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
    }
    if (hash.hex() == shard.hash) return {};
    return data_loss("{} has hash {}, the manifest says {}", shard.file, hash.hex(), shard.hash);
}

// Each slice of the table has an entry of its size and type.
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
    // After the sizes: the work is bounded by what is really in the files.
    if (auto complete = check_complete(verified.manifest.shards); !complete) {
        return data_loss("{}: {}", kManifestFile, complete.error().message);
    }
    return verified;
}

}  // namespace rm
