#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/fault.h"
#include "base/result.h"
#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/slice.h"

// Writing a checkpoint: rank 0 begins, a barrier, each rank writes its shard, a barrier, rank 0
// publishes. Until then everything lies under a temporary name that no reader looks at. Any number
// of ranks may write; `num_shards` of them do. Errors name the path and the system's words.
namespace rm {

// Passes the bytes of a slice, in order and in pieces of any size.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

// A slice and its elements; borrows them.
struct SliceData {
    Slice slice;
    std::span<const std::byte> bytes;
    // Instead of `bytes`, for elements that are not host memory: hands all of them to the sink.
    std::function<Status(const ByteSink&)> read;
};

// <dir>/.tmp-e<epoch>-s<step>: where the shards of a checkpoint in the making lie.
std::string temporary_path(const std::string& dir, const CheckpointName& name);

// Removes what writers of this and of older epochs left unfinished and makes the temporary
// directory, and `dir` with its parents; returns the temporary path.
Result<std::string> begin_checkpoint(const std::string& dir, const CheckpointName& name,
                                     Faults& faults);

// Writes one safetensors file, hashed on the way, and beside it what publish_checkpoint needs to
// know. `activity` counts bytes; when it is cancelled the writing ends. Null: nobody watches.
// Slices may come in any order; across all shards they must hold each tensor exactly once.
Result<ShardInfo> write_shard(const std::string& temp_dir, int shard_index, int num_shards,
                              std::span<const SliceData> slices, Faults& faults,
                              Activity* activity = nullptr);

// Composes the manifest, makes everything durable and gives the checkpoint its name; returns its
// path. A checkpoint of that name is replaced. Fails when a shard is missing or a tensor is
// incomplete.
Result<std::string> publish_checkpoint(const std::string& dir, const CheckpointName& name,
                                       int num_shards, const nlohmann::json& state, Faults& faults);

}  // namespace rm
