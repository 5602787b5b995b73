#include "engine/windows/ring_order.h"

namespace rm {
namespace {

int behind(int index, int steps, int size) {
    return (index - steps + size) % size;
}

}  // namespace

RingOrder::RingOrder(int ring, int inner_size, int slot) {
    const bool is_double = inner_size > 1 && inner_size < ring;
    inner = is_double ? inner_size : ring;
    outer = ring / inner;
    inner_index = slot % inner;
    outer_index = slot / inner;
}

std::size_t RingOrder::slot(int block) const {
    return usize(behind(outer_index, round(block), outer) * inner +
                 behind(inner_index, step(block), inner));
}

}  // namespace rm
