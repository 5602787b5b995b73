#include "engine/windows/ring_order.h"

#include <algorithm>

namespace rm {
namespace {

int behind(int index, int steps, int size) {
    return (index - steps + size) % size;
}

}  // namespace

RingOrder::RingOrder(int ring, int inner_ring, int slot_index) {
    const bool is_double = inner_ring > 1 && inner_ring < ring;
    inner = inner_size = is_double ? inner_ring : ring;
    outer = outer_size = ring / inner;
    inner_index = slot_index % inner;
    outer_index = slot_index / inner;
}

void RingOrder::sample(int most_steps, int most_rounds) {
    inner = std::min(inner, most_steps);
    outer = std::min(outer, most_rounds);
}

std::size_t RingOrder::slot(int block) const {
    return usize(behind(outer_index, round(block), outer_size) * inner_size +
                 behind(inner_index, step(block), inner_size));
}

}  // namespace rm
