#include "engine/checkpoint/block_hashes.h"

#include <algorithm>
#include <utility>

namespace rm {

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
