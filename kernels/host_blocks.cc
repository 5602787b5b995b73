#include "kernels/host_blocks.h"

#include <algorithm>

namespace rm {

HostBlocks::HostBlocks(Device& device) : device_(device) {
    if (!device.host_visible()) buffer_.emplace(device, kBlock);
}

template <typename Before, typename After>
Status HostBlocks::each(const TensorView& tensor, Before before, const Visitor& visit,
                        After after) {
    const std::int64_t total = tensor.num_elements();
    const TensorView flat = tensor.reshaped({total});
    if (!buffer_) return visit(0, flat);
    const std::int64_t most = kBlock.value / size_of(tensor.dtype());
    for (std::int64_t first = 0; first < total; first += most) {
        const TensorView part = flat.rows(first, std::min(most, total - first));
        const TensorView block(buffer_->data(), tensor.dtype(), {part.num_elements()});
        before(part, block);
        RM_RETURN_IF_ERROR(visit(first, block));
        after(part, block);
    }
    return {};
}

Status HostBlocks::read(const TensorView& tensor, const Visitor& visit) {
    return each(
        tensor,
        [&](const TensorView& part, const TensorView& block) { device_.read(part, block.data()); },
        visit, [](const TensorView&, const TensorView&) {});
}

Status HostBlocks::write(const TensorView& tensor, const Visitor& visit) {
    return each(
        tensor, [](const TensorView&, const TensorView&) {}, visit,
        [&](const TensorView& part, const TensorView& block) {
            device_.write(block.data(), part);
        });
}

}  // namespace rm
