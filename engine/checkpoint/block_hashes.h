#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/data/hash.h"

namespace rm {

// A stored slice is hashed in blocks of this size, the last one shorter, so that a rank that reads
// a part of it verifies that part and no more. A terabyte has 60,000 of them, in the manifest 2 MB.
constexpr std::int64_t kHashBlockBytes = std::int64_t{16} << 20;

inline std::int64_t num_hash_blocks(std::int64_t bytes, std::int64_t block_bytes) {
    return (bytes + block_bytes - 1) / block_bytes;
}

// XXH3-128 of each block of bytes that come in pieces of any size.
class BlockHashes {
public:
    void update(std::span<const std::byte> bytes);
    std::vector<std::string> finish();

private:
    Xxh3 hash_;
    std::int64_t filled_ = 0;  // of the block under way
    std::vector<std::string> hashes_;
};

}  // namespace rm
