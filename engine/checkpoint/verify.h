#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/safetensors.h"

namespace rm {

// hashes reads every byte; sizes believes the content of files that have the right size and header:
// enough for a rank that opens what another has just verified.
enum class Verify { sizes, hashes };

struct VerifiedCheckpoint {
    Manifest manifest;
    std::vector<SafetensorsHeader> headers;  // one per shard
};

// Checks manifest, completeness, shard sizes, headers and (Verify::hashes) contents. The error
// names the file within the checkpoint, not the checkpoint, so that it can stand in a sentence
// about it.
Result<VerifiedCheckpoint> verify_checkpoint(const std::string& path, Verify verify);

}  // namespace rm
