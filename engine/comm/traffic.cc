#include "engine/comm/traffic.h"

#include <algorithm>

namespace rm {
namespace {

Traffic in_pieces(std::int64_t elements, DType dtype, std::int64_t piece) {
    return {.messages = num_pieces(elements, piece), .bytes = Bytes{elements * size_of(dtype)}};
}

// Sends all parts but one along the ring, first that of the rank `first` places behind.
Traffic parts_traffic(const Group& group, const TensorView& x, int first, std::int64_t piece) {
    Traffic all;
    const int size = group.size();
    for (int step = 0; step + 1 < size; ++step) {
        const int index = (group.index - first - step + 2 * size) % size;
        const std::int64_t count = part_of(x.num_elements(), size, index).count;
        const Traffic part = in_pieces(count, x.dtype(), piece);
        all.messages += part.messages;
        all.bytes += part.bytes;
    }
    return all;
}

}  // namespace

Traffic ring_shift_traffic(const Staging& staging, const TensorView& out) {
    return in_pieces(out.num_elements(), out.dtype(), staging.piece_elements(out));
}

Traffic reduce_scatter_traffic(const Group& group, const Staging& staging, const TensorView& x,
                               std::int64_t scratch_elements) {
    return parts_traffic(group, x, 1, std::min(scratch_elements / 2, staging.piece_elements(x)));
}

Traffic all_gather_traffic(const Group& group, const Staging& staging, const TensorView& whole) {
    return parts_traffic(group, whole, 0, staging.piece_elements(whole));
}

Traffic all_reduce_traffic(const Group& group, const Staging& staging, const TensorView& x,
                           std::int64_t scratch_elements) {
    const Traffic scatter = reduce_scatter_traffic(group, staging, x, scratch_elements);
    const Traffic gather = all_gather_traffic(group, staging, x);
    return {.messages = scatter.messages + gather.messages, .bytes = scatter.bytes + gather.bytes};
}

Traffic all_to_all_traffic(const Group& group, const Staging& staging, const TensorView& out) {
    const std::int64_t others = group.size() - 1;
    const std::int64_t block = out.num_elements() / group.size();
    const Traffic one = in_pieces(block, out.dtype(), staging.piece_elements(out));
    const auto at_once = std::min(usize(others), staging.num_slots());
    if (at_once == 0) return {};
    return {.messages = num_pieces(others, static_cast<std::int64_t>(at_once)) * one.messages,
            .bytes = one.bytes * others};
}

Traffic broadcast_traffic(const Group& group, const TensorView& x, int root_index) {
    if ((group.index + 1) % group.size() == root_index) return {};
    return in_pieces(x.num_elements(), x.dtype(), Staging::kPiece.value / size_of(x.dtype()));
}

Traffic barrier_traffic(const Group& group) {
    const std::int64_t others = group.size() - 1;
    return {.messages = others, .bytes = Bytes{others}};
}

}  // namespace rm
