#include "engine/checkpoint/writer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <vector>

#include "engine/checkpoint/directory.h"
#include "engine/checkpoint/durable_file.h"
#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/data/file/hash.h"
#include "engine/json/parse_json.h"

namespace rm {
namespace {

std::string sidecar_path(const std::string& temp_dir, int index, int num_shards) {
    return format("{}/{}.json", temp_dir, shard_file(index, num_shards));
}

// A whole tensor keeps its name, so that any safetensors reader finds it.
std::string entry_name(const Slice& slice) {
    if (slice.count == tensor_elements(slice)) return slice.tensor;
    return format("{}#{}.{}of{}@{}+{}", slice.tensor, slice.split_dim, slice.split_index,
                  slice.split_count, slice.first, slice.count);
}

std::vector<std::int64_t> entry_shape(const Slice& slice) {
    if (slice.count == part_elements(slice)) return part_shape(slice);
    return {slice.count};
}

Status check_slices(std::span<const SliceData> slices) {
    std::set<std::string> names;
    for (const SliceData& data : slices) {
        RM_RETURN_IF_ERROR(check_slice(data.slice));
        RM_CHECK(data.read || static_cast<std::int64_t>(data.bytes.size()) == num_bytes(data.slice),
                 "{} bytes given for {}", data.bytes.size(), to_string(data.slice));
        if (!names.insert(entry_name(data.slice)).second) {
            return invalid_argument("{} is given twice", to_string(data.slice));
        }
    }
    return {};
}

// Sorts wide elements first, so that all are aligned to their size without holes.
std::vector<const SliceData*> in_file_order(std::span<const SliceData> slices) {
    std::vector<const SliceData*> order;
    for (const SliceData& data : slices)
        order.push_back(&data);
    std::stable_sort(order.begin(), order.end(), [](const SliceData* a, const SliceData* b) {
        return size_of(a->slice.dtype) > size_of(b->slice.dtype);
    });
    return order;
}

std::string header_of(std::span<const SliceData* const> order) {
    std::vector<SafetensorsEntry> entries;
    std::int64_t end = 0;
    for (const SliceData* data : order) {
        const std::int64_t begin = end;
        end += num_bytes(data->slice);
        entries.push_back({entry_name(data->slice), storage_of(data->slice.dtype),
                           entry_shape(data->slice), begin, end});
    }
    return encode_safetensors_header(entries, {{"format", "ringmaster-checkpoint"}});
}

Status write_safetensors(const std::string& path, std::span<const SliceData* const> order,
                         ShardInfo& shard, Faults& faults, Activity* activity) {
    RM_TRY(DurableFile file, DurableFile::create(path, faults));
    Xxh3 hash;
    const ByteSink append = [&](std::span<const std::byte> bytes) -> Status {
        if (activity != nullptr) {
            RM_RETURN_IF_ERROR(activity->check());
            activity->done += static_cast<std::int64_t>(bytes.size());
        }
        pass_slowly(&faults, "checkpoint.slow_write");
        hash.update(bytes);
        shard.bytes += static_cast<std::int64_t>(bytes.size());
        return file.write(bytes);
    };
    const std::string header = header_of(order);
    RM_RETURN_IF_ERROR(append(std::as_bytes(std::span(header))));
    for (const SliceData* data : order) {
        const std::int64_t begin = shard.bytes;
        BlockHashes blocks;
        const ByteSink append_slice = [&](std::span<const std::byte> bytes) {
            blocks.update(bytes);
            return append(bytes);
        };
        RM_RETURN_IF_ERROR(data->read ? data->read(append_slice) : append_slice(data->bytes));
        RM_CHECK(shard.bytes - begin == num_bytes(data->slice), "{} bytes read of {}",
                 shard.bytes - begin, to_string(data->slice));
        shard.slices.push_back({entry_name(data->slice), data->slice, blocks.finish()});
    }
    shard.block_bytes = kHashBlockBytes;
    shard.hash = hash.hex();
    return file.finish();
}

Result<ShardInfo> read_sidecar(const std::string& temp_dir, int index, int num_shards) {
    const std::string path = sidecar_path(temp_dir, index, num_shards);
    const auto text = read_file(path);
    if (!text) {
        return make_error(ErrorCode::failed_precondition, "shard {} of {} was not written: {}",
                          index, num_shards, text.error().message);
    }
    RM_TRY(const nlohmann::json value, within(path, parse_json(*text)));
    return within(path, shard_from_json(value));
}

Result<Manifest> compose(const std::string& temp_dir, const CheckpointName& name, int num_shards) {
    Manifest manifest{.name = name};
    for (int i = 0; i < num_shards; ++i) {
        RM_TRY(ShardInfo shard, read_sidecar(temp_dir, i, num_shards));
        manifest.shards.push_back(std::move(shard));
    }
    RM_RETURN_IF_ERROR(check_complete(manifest.shards));
    return manifest;
}

}  // namespace

std::string temporary_path(const std::string& dir, const CheckpointName& name) {
    return format("{}/{}{}", dir, kTemporaryPrefix, name);
}

Result<std::string> begin_checkpoint(const std::string& dir, const CheckpointName& name,
                                     Faults& faults) {
    RM_RETURN_IF_ERROR(make_directories(dir));
    RM_TRY(const DirectoryListing listing, list_checkpoints(dir));
    for (const TemporaryEntry& entry : listing.temporary) {
        if (entry.name.epoch > name.epoch) continue;
        RM_RETURN_IF_ERROR(remove_tree(dir + "/" + entry.file, faults));
    }
    std::string path = temporary_path(dir, name);
    RM_RETURN_IF_ERROR(make_directories(path));
    return path;
}

Result<ShardInfo> write_shard(const std::string& temp_dir, int shard_index, int num_shards,
                              std::span<const SliceData> slices, Faults& faults,
                              Activity* activity) {
    RM_CHECK(shard_index >= 0 && shard_index < num_shards, "shard {} of {}", shard_index,
             num_shards);
    RM_RETURN_IF_ERROR(check_slices(slices));
    ShardInfo shard{.file = shard_file(shard_index, num_shards)};
    const std::vector<const SliceData*> order = in_file_order(slices);
    RM_RETURN_IF_ERROR(
        write_safetensors(temp_dir + "/" + shard.file, order, shard, faults, activity));
    RM_RETURN_IF_ERROR(write_durable_file(sidecar_path(temp_dir, shard_index, num_shards),
                                          to_json(shard).dump(), faults));
    return shard;
}

Result<std::string> publish_checkpoint(const std::string& dir, const CheckpointName& name,
                                       int num_shards, const nlohmann::json& state,
                                       Faults& faults) {
    const std::string temp_dir = temporary_path(dir, name);
    RM_TRY(Manifest manifest, compose(temp_dir, name, num_shards));
    manifest.state = state;
    RM_RETURN_IF_ERROR(write_durable_file(format("{}/{}", temp_dir, kManifestFile),
                                          encode_manifest(manifest), faults));
    for (int i = 0; i < num_shards; ++i) {
        RM_RETURN_IF_ERROR(remove_file(sidecar_path(temp_dir, i, num_shards), faults));
    }
    RM_RETURN_IF_ERROR(sync_directory(temp_dir, faults));
    std::string path = format("{}/{}", dir, name);
    RM_RETURN_IF_ERROR(replace_directory(temp_dir, path, faults));
    RM_RETURN_IF_ERROR(sync_directory(dir, faults));
    return path;
}

}  // namespace rm
