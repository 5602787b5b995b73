#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/fault.h"
#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/durable_file.h"

namespace rm {

// Reads slices of a checkpoint and verifies only the blocks of stored slices that it reads: ranks
// that read different parts verify the checkpoint together. If the checkpoint has no block
// hashes, hashes each file that it reads from, once. Used by one thread.
class CheckpointReader {
public:
    // Point checkpoint.slow_read: a block, or a piece of a whole file, takes long to read.
    struct Options {
        Activity* activity = nullptr;  // counts the bytes read and can cancel
        Faults* faults = nullptr;
    };
    explicit CheckpointReader(const Checkpoint& checkpoint) : CheckpointReader(checkpoint, {}) {}
    CheckpointReader(const Checkpoint& checkpoint, Options options)
        : checkpoint_(checkpoint), options_(options) {}

    // Assembles `slice` from whatever slices are stored. `out` has exactly its bytes. Errors of
    // Checkpoint::locate; data_loss names the file and what is wrong with it.
    Status read(const Slice& slice, std::span<std::byte> out);

    std::int64_t bytes_read() const { return bytes_read_; }  // from the disk

private:
    using Location = Checkpoint::Location;
    const ShardInfo& shard_of(const Location& at) const {
        return checkpoint_.shards()[usize(at.shard)];
    }
    const StoredSlice& stored_at(const Location& at) const {
        return shard_of(at).slices[usize(at.slice)];
    }
    Status read_range(const Location& location, std::int64_t at, std::span<std::byte> out);
    Status read_block(const Location& location, std::int64_t index, std::span<std::byte> out);
    Status read_file(int shard, std::int64_t at, std::span<std::byte> out);
    Status verify_file(int shard);

    const Checkpoint& checkpoint_;
    const Options options_;
    std::int64_t bytes_read_ = 0;
    int open_shard_ = -1;
    std::optional<FileReader> file_;
    std::set<int> verified_files_;
    std::vector<std::byte> block_;  // block kept_index_ of kept_, for ranges shorter than it
    const Location* kept_ = nullptr;
    std::int64_t kept_index_ = -1;
};

}  // namespace rm
