#include "engine/checkpoint/manifest.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "engine/checkpoint/safetensors.h"
#include "engine/data/hash.h"
#include "engine/data/json_fields.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "ringmaster-checkpoint";
constexpr std::int64_t kVersion = 1;
constexpr const char* kHashKey = "xxh3_128";
constexpr const char* kBlockBytesKey = "block_bytes";
constexpr const char* kBlockHashesKey = "block_xxh3_128";

// The digits at the front of `text`, which loses them. No sign, no leading zero.
std::optional<std::int64_t> take_number(std::string_view& text) {
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (failure != std::errc() || text[0] == '-' || (text[0] == '0' && length > 1)) return {};
    text.remove_prefix(length);
    return number;
}

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

Status read_block_hashes(const json& value, std::int64_t block_bytes, StoredSlice& stored) {
    RM_TRY(const json* hashes, array_at(value, kBlockHashesKey));
    const std::int64_t expected = num_hash_blocks(num_bytes(stored.slice), block_bytes);
    if (std::ssize(*hashes) != expected) {
        return data_loss("{} has {} hashes of blocks of {} bytes, not {}", stored.entry,
                         hashes->size(), block_bytes, expected);
    }
    for (const json& hash : *hashes) {
        if (!hash.is_string()) {
            return data_loss("a hash of {} is {}, not a string", stored.entry, hash.type_name());
        }
        stored.block_hashes.push_back(hash.get<std::string>());
    }
    return {};
}

Result<StoredSlice> stored_slice_from_json(const json& value, std::int64_t block_bytes) {
    StoredSlice stored;
    Slice& slice = stored.slice;
    RM_TRY(stored.entry, string_at(value, "entry"));
    RM_TRY(slice.tensor, string_at(value, "tensor"));
    RM_TRY(const std::string dtype, string_at(value, "dtype"));
    RM_TRY(const StorageType type, parse_storage_type(dtype));
    RM_TRY(slice.dtype, memory_dtype(type));
    RM_TRY(slice.shape, integers_at(value, "shape"));
    RM_TRY(slice.split_dim, integer_at(value, "split_dim"));
    RM_TRY(slice.split_index, integer_at(value, "split_index"));
    RM_TRY(slice.split_count, integer_at(value, "split_count"));
    RM_TRY(slice.first, integer_at(value, "first"));
    RM_TRY(slice.count, integer_at(value, "count"));
    RM_RETURN_IF_ERROR(check_slice(slice));
    if (block_bytes > 0) RM_RETURN_IF_ERROR(read_block_hashes(value, block_bytes, stored));
    return stored;
}

Status check_header(const json& root) {
    RM_TRY(const std::string format_name, string_at(root, "format"));
    if (format_name != kFormat) {
        return data_loss("its format is '{}', not '{}'", format_name, kFormat);
    }
    RM_TRY(const std::int64_t version, integer_at(root, "version"));
    if (version == kVersion) return {};
    return make_error(ErrorCode::failed_precondition,
                      "it has format version {}; this build reads version {}", version, kVersion);
}

Status check_own_hash(json& root) {
    RM_TRY(const std::string recorded, string_at(root, kHashKey));
    root.erase(kHashKey);
    const std::string hash = xxh3_hex(to_text(root, -1));
    if (hash == recorded) return {};
    return data_loss("its content has hash {}, it says {}", hash, recorded);
}

struct TensorPieces {
    const Slice* first = nullptr;  // of which the others must be pieces too
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
    if (!text.starts_with('e')) return {};
    text.remove_prefix(1);
    const auto epoch = take_number(text);
    if (!epoch || !text.starts_with("-s")) return {};
    text.remove_prefix(2);
    const auto step = take_number(text);
    if (!step || !text.empty()) return {};
    return CheckpointName{{*epoch}, *step};
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
    RM_TRY(shard.file, string_at(value, "file"));
    RM_TRY(shard.bytes, integer_at(value, "bytes"));
    RM_TRY(shard.hash, string_at(value, kHashKey));
    if (value.contains(kBlockBytesKey)) {
        RM_TRY(shard.block_bytes, integer_at(value, kBlockBytesKey));
    }
    if (shard.block_bytes < 0) {
        return data_loss("'{}' is {}", kBlockBytesKey, shard.block_bytes);
    }
    RM_TRY(const json* slices, array_at(value, "slices"));
    for (const json& item : *slices) {
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
    RM_TRY(manifest.name.epoch.value, integer_at(root, "epoch"));
    RM_TRY(manifest.name.step, integer_at(root, "step"));
    RM_TRY(const json* state, field_at(root, "state"));
    manifest.state = *state;
    RM_TRY(const json* shards, array_at(root, "shards"));
    const auto num_shards = static_cast<int>(shards->size());
    for (int i = 0; i < num_shards; ++i) {
        RM_TRY(ShardInfo shard, shard_from_json((*shards)[static_cast<std::size_t>(i)]));
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
        const auto room = static_cast<std::size_t>(kHashBlockBytes - filled_);
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
