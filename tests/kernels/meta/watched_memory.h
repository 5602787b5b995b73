#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kernels/meta/schedule.h"
#include "tests/support/forwarding_device.h"

namespace rm::test {

// A host device that keeps a list of its buffers.
class WatchedDevice final : public ForwardingDevice {
public:
    using Buffers = std::map<std::uint64_t, std::int64_t>;  // address to size
    static std::unique_ptr<Device> make() { return std::make_unique<WatchedDevice>(); }
    const Buffers& buffers() const { return buffers_; }

protected:
    void* allocate_bytes(Bytes size) override;
    void free_bytes(void* data, Bytes size) override;

private:
    Buffers buffers_;
};

// Holds a copy of all buffers at one moment.
class Snapshot {
public:
    explicit Snapshot(const WatchedDevice::Buffers& buffers);
    void restore() const;
    // Sets every byte outside `ranges` to 0xff: a NaN, or an impossible token.
    void spoil_all_but(const std::vector<AddressRange>& ranges) const;
    // Whether any byte of the range has changed.
    bool differs(const AddressRange& range) const;
    // The first changed byte outside `ranges`; a size of 0: none.
    AddressRange changed_outside(const std::vector<AddressRange>& ranges) const;

private:
    struct Saved {
        std::byte* at = nullptr;
        std::vector<std::byte> bytes;
    };
    // The intersection of a buffer and a range; a size of 0: empty.
    struct Part {
        std::byte* now = nullptr;
        const std::byte* then = nullptr;
        std::size_t size = 0;
    };
    static Part common(const Saved& saved, const AddressRange& range);
    std::vector<Saved> saved_;
};

}  // namespace rm::test
