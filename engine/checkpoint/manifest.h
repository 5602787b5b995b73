#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/checkpoint/slice.h"
#include "engine/data/file/hash.h"

namespace rm {

// e<epoch>-s<step>, the name of a checkpoint's directory. The newest is the greatest.
struct CheckpointName {
    Epoch epoch;
    std::int64_t step = 0;
    auto operator<=>(const CheckpointName&) const = default;
};
std::string to_string(const CheckpointName& name);
std::ostream& operator<<(std::ostream& out, const CheckpointName& name);
std::optional<CheckpointName> parse_checkpoint_name(std::string_view text);

// A slice in a shard, under `entry` in the shard's safetensors header.
struct StoredSlice {
    std::string entry;
    Slice slice;
    std::vector<std::string> block_hashes = {};  // XXH3-128 of each block, where there are blocks
};

// One rank's file.
struct ShardInfo {
    std::string file;
    std::int64_t bytes = 0;
    std::string hash;  // XXH3-128 of the whole file
    std::vector<StoredSlice> slices;
    std::int64_t block_bytes = 0;  // of block_hashes; 0: an old build hashed whole files only
};
std::string shard_file(int index, int num_shards);  // shard-00000-of-00004.safetensors

// The contents of manifest.json (docs/formats/checkpoint.md). `state` is the trainer's own.
struct Manifest {
    CheckpointName name;
    nlohmann::json state;
    std::vector<ShardInfo> shards;
};

nlohmann::json to_json(const ShardInfo& shard);
Result<ShardInfo> shard_from_json(const nlohmann::json& value);

// The text holds its own hash: a manifest with a changed byte does not parse.
std::string encode_manifest(const Manifest& manifest);
// data_loss names the field and its value; failed_precondition is a newer format.
Result<Manifest> parse_manifest(std::string_view text);

// Checks that a tensor's slices agree on shape and type and hold each element exactly once.
Status check_complete(const std::vector<ShardInfo>& shards);

constexpr std::string_view kManifestFile = "manifest.json";

// A stored slice is hashed in blocks of this size, the last one shorter, so that a rank
// verifies only the part that it reads. A terabyte has 60,000: 2 MB of the manifest.
constexpr std::int64_t kHashBlockBytes = std::int64_t{16} << 20;

// Hashes each block (XXH3-128) of bytes that arrive in pieces of any size.
class BlockHashes {
public:
    void update(std::span<const std::byte> bytes);
    std::vector<std::string> finish();

private:
    Xxh3 hash_;
    std::int64_t filled_ = 0;  // bytes of the current block
    std::vector<std::string> hashes_;
};

}  // namespace rm
