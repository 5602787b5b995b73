#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "kernels/device.h"

namespace rm {

// Gives host code the elements of a tensor, wherever it lies: host memory in place, all at once;
// other memory by blocks through one bounded host buffer, in order. Used by one thread, while no
// stream uses the tensor (for a writer: while none changes it).
class HostBlocks {
public:
    explicit HostBlocks(Device& device);  // borrowed

    // `block`: host memory of one dim, the elements from `first` on. The first error ends it.
    using Visitor = std::function<Status(std::int64_t first, const TensorView& block)>;
    Status read(const TensorView& tensor, const Visitor& visit);
    // The visitor fills each block.
    Status write(const TensorView& tensor, const Visitor& visit);

    static constexpr Bytes kBlock{std::int64_t{8} << 20};

private:
    template <typename Before, typename After>
    Status each(const TensorView& tensor, Before before, const Visitor& visit, After after);

    Device& device_;
    std::optional<PinnedBuffer> buffer_;  // none: direct
};

}  // namespace rm
