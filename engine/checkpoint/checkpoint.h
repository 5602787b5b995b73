#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/slice.h"

namespace rm {

// hashes reads every byte; sizes trusts files with the right size and header, which is enough for a
// rank that opens a checkpoint another rank has just verified.
enum class Verify { sizes, hashes };

struct VerifiedCheckpoint {
    Manifest manifest;
    std::vector<SafetensorsHeader> headers;  // one per shard
};

// Checks manifest, completeness, shard sizes, headers and (Verify::hashes) contents. The error
// names the file within the checkpoint; the caller names the checkpoint.
Result<VerifiedCheckpoint> verify_checkpoint(const std::string& path, Verify verify);

// A checkpoint opened for reading on any mesh; CheckpointReader reads it.
class Checkpoint {
public:
    // data_loss names the checkpoint, the file and what is wrong with it.
    static Result<Checkpoint> open(const std::string& path, Verify verify);
    Checkpoint(std::string path, VerifiedCheckpoint verified);

    const CheckpointName& name() const { return name_; }
    const nlohmann::json& state() const { return state_; }
    const std::string& path() const { return path_; }
    // By name; each as a slice of the whole tensor.
    const std::map<std::string, Slice>& tensors() const { return tensors_; }
    const std::vector<ShardInfo>& shards() const { return shards_; }

    struct Location {
        int shard = 0;
        int slice = 0;        // among its shard's
        std::int64_t at = 0;  // byte of its first element in the file
    };
    // Finds the slices of a tensor. not_found: no such tensor; failed_precondition: it is stored
    // with another shape or type.
    Result<std::span<const Location>> locate(const Slice& slice) const;

private:
    std::string path_;
    CheckpointName name_;
    nlohmann::json state_;
    std::vector<ShardInfo> shards_;
    std::map<std::string, Slice> tensors_;
    std::map<std::string, std::vector<Location>> locations_;
};

}  // namespace rm
