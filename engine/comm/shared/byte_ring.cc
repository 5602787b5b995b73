#include "engine/comm/shared/byte_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace rm {

RingSide::RingSide(RingState& state, std::span<std::byte> bytes) : state_(&state), bytes_(bytes) {
    RM_CHECK(std::has_single_bit(bytes.size()), "a ring of {} bytes; a power of two is needed",
             bytes.size());
}

std::span<std::byte> RingSide::at(std::uint64_t position, std::size_t count) const {
    const std::size_t offset = position & (capacity() - 1);
    return bytes_.subspan(offset, std::min(count, capacity() - offset));
}

std::size_t RingSide::between(std::uint64_t read, std::uint64_t written) const {
    const std::uint64_t bytes = written - read;
    RM_CHECK(bytes <= capacity(), "a ring of {} bytes was written up to {} and read up to {}",
             capacity(), written, read);
    return bytes;
}

void RingWriter::put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::span<std::byte> room = at(written_, bytes.size());
        std::memcpy(room.data(), bytes.data(), room.size());
        bytes = bytes.subspan(room.size());
        written_ += room.size();
    }
}

void RingWriter::wake_at(std::uint64_t position) {
    if (position == wake_at_) return;
    wake_at_ = position;
    state_->wake_writer_at.store(position);
}

void RingReader::take(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const std::span<std::byte> filled = at(read_, bytes.size());
        std::memcpy(bytes.data(), filled.data(), filled.size());
        bytes = bytes.subspan(filled.size());
        read_ += filled.size();
    }
}

// Either the reader sees the writer's wish here, or the writer, which states it before it looks,
// sees this position.
bool RingReader::publish() {
    const std::uint64_t before = published_;
    published_ = read_;
    state_->read.store(read_);
    const std::uint64_t wish = state_->wake_writer_at.load();
    return before < wish && wish <= read_;
}

}  // namespace rm
