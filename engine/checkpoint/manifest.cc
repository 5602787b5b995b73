#include "engine/checkpoint/manifest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/data/file/hash.h"
#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "ringmaster-checkpoint";
constexpr std::int64_t kVersion = 1;
constexpr const char* kHashKey = "xxh3_128";
constexpr const char* kBlockBytesKey = "block_bytes";
constexpr const char* kBlockHashesKey = "block_xxh3_128";

// The trainer's state may hold a path that is not UTF-8; dump() alone would throw.
std::string to_text(const json& value, int indent) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

json to_json(const StoredSlice& stored) {
    const Slice& slice = stored.slice;
    return {{"entry", stored.entry},
            {kBlockHashesKey, stored.block_hashes},
            {"tensor", slice.tensor},
            {"dtype", to_string(storage_of(slice.dtype))},
            {"shape", slice.shape},
            {"split_dim", slice.split_dim},
            {"split_index", slice.split_index},
            {"split_count", slice.split_count},
            {"first", slice.first},
            {"count", slice.count}};
}

Status check_block_hashes(const StoredSlice& stored, std::int64_t block_bytes) {
    const std::int64_t expected = (num_bytes(stored.slice) + block_bytes - 1) / block_bytes;
    if (std::ssize(stored.block_hashes) == expected) return {};
    return data_loss("{} has {} hashes of blocks of {} bytes, not {}", stored.entry,
                     stored.block_hashes.size(), block_bytes, expected);
}

Result<StoredSlice> stored_slice_from_json(const json& value, std::int64_t block_bytes) {
    StoredSlice stored;
    Slice& slice = stored.slice;
    std::string dtype;
    JsonObject object = JsonObject::of_file(value);
    object.require("entry", stored.entry)
        .require("tensor", slice.tensor)
        .require("dtype", dtype)
        .require("shape", slice.shape)
        .require("split_dim", slice.split_dim)
        .require("split_index", slice.split_index)
        .require("split_count", slice.split_count)
        .require("first", slice.first)
        .require("count", slice.count);
    if (block_bytes > 0) object.require(kBlockHashesKey, stored.block_hashes);
    RM_RETURN_IF_ERROR(object.status());
    RM_TRY(const StorageType type, parse_storage_type(dtype));
    RM_TRY(slice.dtype, memory_dtype(type));
    RM_RETURN_IF_ERROR(check_slice(slice));
    if (block_bytes > 0) RM_RETURN_IF_ERROR(check_block_hashes(stored, block_bytes));
    return stored;
}

Status check_header(const json& root) {
    RM_TRY(const std::string format_name, json_at<std::string>(root, "format"));
    if (format_name != kFormat) {
        return data_loss("its format is '{}', not '{}'", format_name, kFormat);
    }
    RM_TRY(const std::int64_t version, json_at<std::int64_t>(root, "version"));
    if (version == kVersion) return {};
    return make_error(ErrorCode::failed_precondition,
                      "it has format version {}; this build reads version {}", version, kVersion);
}

Status check_own_hash(json& root) {
    RM_TRY(const std::string recorded, json_at<std::string>(root, kHashKey));
    root.erase(kHashKey);
    const std::string hash = xxh3_hex(to_text(root, -1));
    if (hash == recorded) return {};
    return data_loss("its content has hash {}, but it records {}", hash, recorded);
}

struct TensorPieces {
    const Slice* first = nullptr;  // the others must be pieces of the same tensor
    Coverage coverage;
};

Status add_piece(std::map<std::string, TensorPieces>& tensors, const Slice& slice) {
    TensorPieces& pieces = tensors[slice.tensor];
    if (pieces.first == nullptr) pieces.first = &slice;
    if (slice.shape != pieces.first->shape || slice.dtype != pieces.first->dtype) {
        return invalid_argument("two shapes or types of one tensor: {}; {}",
                                to_string(*pieces.first), to_string(slice));
    }
    for (RunCursor run(slice); !run.done(); run.advance()) {
        pieces.coverage.add(run.current().in_tensor, run.current().count);
    }
    return {};
}

}  // namespace

std::string to_string(const CheckpointName& name) {
    return format("e{}-s{}", name.epoch, name.step);
}

std::ostream& operator<<(std::ostream& out, const CheckpointName& name) {
    return out << to_string(name);
}

std::optional<CheckpointName> parse_checkpoint_name(std::string_view text) {
    const std::size_t dash = text.find("-s");
    if (!text.starts_with('e') || dash == std::string_view::npos) return {};
    const auto epoch = parse_number<std::int64_t>(text.substr(1, dash - 1));
    const auto step = parse_number<std::int64_t>(text.substr(dash + 2));
    if (!epoch || !step || *epoch < 0 || *step < 0) return {};
    const CheckpointName name{{*epoch}, *step};
    return to_string(name) == text ? std::optional(name) : std::nullopt;  // no leading zeros
}

std::string shard_file(int index, int num_shards) {
    return format("shard-{:05}-of-{:05}.safetensors", index, num_shards);
}

json to_json(const ShardInfo& shard) {
    json slices = json::array();
    for (const StoredSlice& stored : shard.slices)
        slices.push_back(to_json(stored));
    return {{"file", shard.file},
            {"bytes", shard.bytes},
            {kHashKey, shard.hash},
            {kBlockBytesKey, shard.block_bytes},
            {"slices", std::move(slices)}};
}

Result<ShardInfo> shard_from_json(const json& value) {
    ShardInfo shard;
    JsonObject object = JsonObject::of_file(value);
    const json& slices = object.require("file", shard.file)
                             .require("bytes", shard.bytes)
                             .require(kHashKey, shard.hash)
                             .read(kBlockBytesKey, shard.block_bytes)
                             .require("slices")
                             .list("slices");
    RM_RETURN_IF_ERROR(object.status());
    if (shard.block_bytes < 0) {
        return data_loss("'{}' is {}", kBlockBytesKey, shard.block_bytes);
    }
    for (const json& item : slices) {
        RM_TRY(StoredSlice stored, stored_slice_from_json(item, shard.block_bytes));
        shard.slices.push_back(std::move(stored));
    }
    return shard;
}

std::string encode_manifest(const Manifest& manifest) {
    json shards = json::array();
    for (const ShardInfo& shard : manifest.shards)
        shards.push_back(to_json(shard));
    json root = {{"format", kFormat},
                 {"version", kVersion},
                 {"epoch", manifest.name.epoch.value},
                 {"step", manifest.name.step},
                 {"state", manifest.state},
                 {"shards", std::move(shards)}};
    root[kHashKey] = xxh3_hex(to_text(root, -1));
    return to_text(root, 1) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text) {
    RM_TRY(json root, parse_json(text));
    RM_RETURN_IF_ERROR(check_header(root));
    RM_RETURN_IF_ERROR(check_own_hash(root));
    Manifest manifest;
    JsonObject object = JsonObject::of_file(root);
    object.require("epoch", manifest.name.epoch.value)
        .require("step", manifest.name.step)
        .require("state")
        .require("shards");
    const json& shards = object.list("shards");
    RM_RETURN_IF_ERROR(object.status());
    manifest.state = root["state"];
    const auto num_shards = static_cast<int>(shards.size());
    for (int i = 0; i < num_shards; ++i) {
        RM_TRY(ShardInfo shard, shard_from_json(shards[usize(i)]));
        // Also keeps paths that lead out of the checkpoint from being opened.
        if (shard.file != shard_file(i, num_shards)) {
            return data_loss("shard {} is called '{}', not '{}'", i, shard.file,
                             shard_file(i, num_shards));
        }
        manifest.shards.push_back(std::move(shard));
    }
    return manifest;
}

Status check_complete(const std::vector<ShardInfo>& shards) {
    std::map<std::string, TensorPieces> tensors;
    for (const ShardInfo& shard : shards) {
        for (const StoredSlice& stored : shard.slices) {
            RM_RETURN_IF_ERROR(add_piece(tensors, stored.slice));
        }
    }
    for (auto& [name, pieces] : tensors) {
        const std::int64_t elements = tensor_elements(*pieces.first);
        if (const std::int64_t gap = pieces.coverage.first_missing(elements); gap < elements) {
            return invalid_argument("element {} of the {} of {} is in no shard", gap, elements,
                                    name);
        }
        if (const std::int64_t twice = pieces.coverage.first_repeated(); twice >= 0) {
            return invalid_argument("element {} of {} is in the shards twice", twice, name);
        }
    }
    return {};
}

void BlockHashes::update(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const auto room = usize(kHashBlockBytes - filled_);
        const auto part = bytes.first(std::min(bytes.size(), room));
        hash_.update(part);
        filled_ += static_cast<std::int64_t>(part.size());
        bytes = bytes.subspan(part.size());
        if (filled_ < kHashBlockBytes) continue;
        hashes_.push_back(std::exchange(hash_, Xxh3()).hex());
        filled_ = 0;
    }
}

std::vector<std::string> BlockHashes::finish() {
    if (filled_ > 0) hashes_.push_back(hash_.hex());
    return std::move(hashes_);
}

}  // namespace rm
