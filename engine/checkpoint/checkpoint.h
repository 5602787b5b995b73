#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/slice.h"
#include "engine/checkpoint/verify.h"

namespace rm {

// A checkpoint opened for reading, whatever mesh wrote it. Reading is const and thread safe.
class Checkpoint {
public:
    // data_loss names the checkpoint, the file and what is wrong with it.
    static Result<Checkpoint> open(const std::string& path, Verify verify);

    const CheckpointName& name() const { return name_; }
    const nlohmann::json& state() const { return state_; }
    // By name; each as the slice that is the whole tensor.
    const std::map<std::string, Slice>& tensors() const { return tensors_; }

    // Assembles `slice` from whatever slices are stored. `out` has exactly its bytes. not_found: no
    // such tensor; failed_precondition: it is stored with another shape or type; data_loss: the
    // disk.
    Status read(const Slice& slice, std::span<std::byte> out) const;

private:
    struct Location {
        Slice slice;
        std::string file;     // full path
        std::int64_t at = 0;  // byte of its first element in the file
    };
    Status check_stored(const Slice& slice) const;

    std::string path_;
    CheckpointName name_;
    nlohmann::json state_;
    std::map<std::string, Slice> tensors_;
    std::map<std::string, std::vector<Location>> locations_;
};

}  // namespace rm
