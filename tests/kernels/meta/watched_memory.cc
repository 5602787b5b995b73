#include "tests/kernels/meta/watched_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rm::test {
namespace {

bool holds(const std::vector<AddressRange>& ranges, const std::byte* at) {
    const auto address = std::bit_cast<std::uint64_t>(at);
    for (const AddressRange& range : ranges) {
        if (address - range.address < static_cast<std::uint64_t>(range.size)) return true;
    }
    return false;
}

}  // namespace

void* WatchedDevice::allocate_bytes(Bytes size) {
    void* data = ForwardingDevice::allocate_bytes(size);
    buffers_[std::bit_cast<std::uint64_t>(data)] = size.value;
    return data;
}

void WatchedDevice::free_bytes(void* data, Bytes size) {
    buffers_.erase(std::bit_cast<std::uint64_t>(data));
    ForwardingDevice::free_bytes(data, size);
}

Snapshot::Snapshot(const WatchedDevice::Buffers& buffers) {
    for (const auto& [address, size] : buffers) {
        auto* at = std::bit_cast<std::byte*>(address);
        saved_.push_back({at, {at, at + size}});
    }
}

void Snapshot::restore() const {
    for (const Saved& saved : saved_)
        std::memcpy(saved.at, saved.bytes.data(), saved.bytes.size());
}

Snapshot::Part Snapshot::common(const Saved& saved, const AddressRange& range) {
    const auto start = std::bit_cast<std::uint64_t>(saved.at);
    const std::uint64_t end = start + saved.bytes.size();
    const std::uint64_t first = std::max(start, range.address);
    const std::uint64_t last =
        std::min(end, range.address + static_cast<std::uint64_t>(range.size));
    if (first >= last) return {};
    return {saved.at + (first - start), saved.bytes.data() + (first - start), last - first};
}

void Snapshot::spoil_all_but(const std::vector<AddressRange>& ranges) const {
    for (const Saved& saved : saved_) {
        std::memset(saved.at, 0xff, saved.bytes.size());
        for (const AddressRange& range : ranges) {
            const Part part = common(saved, range);
            if (part.size > 0) std::memcpy(part.now, part.then, part.size);
        }
    }
}

bool Snapshot::differs(const AddressRange& range) const {
    return std::any_of(saved_.begin(), saved_.end(), [&](const Saved& saved) {
        const Part part = common(saved, range);
        return part.size > 0 && std::memcmp(part.now, part.then, part.size) != 0;
    });
}

AddressRange Snapshot::changed_outside(const std::vector<AddressRange>& ranges) const {
    for (const Saved& saved : saved_) {
        for (std::size_t i = 0; i < saved.bytes.size(); ++i) {
            if (saved.at[i] != saved.bytes[i] && !holds(ranges, saved.at + i))
                return {std::bit_cast<std::uint64_t>(saved.at + i), 1};
        }
    }
    return {};
}

}  // namespace rm::test
