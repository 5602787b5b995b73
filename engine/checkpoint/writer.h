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

// Writes a checkpoint: rank 0 begins, a barrier, each rank writes its shard, a barrier, rank 0
// publishes. Until then all files have a temporary name that readers ignore. Any number of ranks
// may write; `num_shards` of them do. Errors name the path and the system's words.
namespace rm {

// Takes the bytes of a slice, in order and in pieces of any size.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

// A slice and its elements; borrows them.
struct SliceData {
    Slice slice;
    std::span<const std::byte> bytes;
    // Replaces `bytes` for elements outside host memory: passes all of them to the sink.
    std::function<Status(const ByteSink&)> read;
};

// <dir>/.tmp-e<epoch>-s<step>: the directory of an unpublished checkpoint.
std::string temporary_path(const std::string& dir, const CheckpointName& name);

// Removes unfinished checkpoints of this and older epochs and makes the temporary directory, with
// `dir` and its parents; returns the temporary path.
Result<std::string> begin_checkpoint(const std::string& dir, const CheckpointName& name,
                                     Faults& faults);

// Writes one safetensors file, hashing on the way, and beside it a file for publish_checkpoint.
// `activity` counts bytes and can cancel; null: neither. Slices may come in any order; across all
// shards they must hold each tensor exactly once.
Result<ShardInfo> write_shard(const std::string& temp_dir, int shard_index, int num_shards,
                              std::span<const SliceData> slices, Faults& faults,
                              Activity* activity = nullptr);

// Composes the manifest, makes everything durable and gives the checkpoint its name, replacing one
// of that name; returns its path. Fails when a shard is missing or a tensor is incomplete.
Result<std::string> publish_checkpoint(const std::string& dir, const CheckpointName& name,
                                       int num_shards, const nlohmann::json& state, Faults& faults);

}  // namespace rm
