#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/model/parameters.h"
#include "kernels/kernels.h"

namespace rm {

// Memory for one unit at a time.
struct UnitBuffer {
    TensorView memory;
    int unit = ParameterTable::kNoUnit;  // whose contents are here
    std::int64_t turn = 0;
};

// The elements of a buffer that units share: a layer's.
inline std::int64_t shared_elements(const ParameterTable& table) {
    return table.units[usize(table.layer_unit(0))].num_elements;
}

// Two buffers as long as a layer, or one, in which units take turns, and one more for each unit
// that is longer or has one to itself. A Buffer is a UnitBuffer with events.
template <typename Buffer>
class UnitBuffers {
public:
    // `num_shared`: 1 or 2. `has_own(unit)`: whether the unit shares none.
    template <typename HasOwn>
    void allocate(Device& device, MemoryKind kind, DType dtype, const ParameterTable& table,
                  std::size_t num_shared, const HasOwn& has_own) {
        const std::int64_t shared = shared_elements(table);
        num_shared_ = num_shared;
        std::vector<std::int64_t> sizes(num_shared, shared);
        for (int unit = 0; unit < static_cast<int>(table.units.size()); ++unit) {
            const std::int64_t size = table.units[usize(unit)].num_elements;
            const bool own = size > shared || has_own(unit);
            own_.push_back(own ? static_cast<int>(sizes.size()) : kShared);
            if (own) sizes.push_back(size);
        }
        cut(device, kind, dtype, sizes);
    }

    std::vector<Buffer>& all() { return buffers_; }
    // Own buffers of one parameter's units lie one after another.
    const TensorView& own_memory(int unit) const {
        return buffers_[usize(own_[usize(unit)])].memory;
    }
    const Tensor& memory() const { return memory_; }

    // Null: the unit is in no buffer.
    Buffer* find(int unit) {
        for (Buffer& buffer : buffers_) {
            if (buffer.unit == unit) return &buffer;
        }
        return nullptr;
    }
    Buffer& of(int unit) {
        Buffer* found = find(unit);
        RM_CHECK(found != nullptr, "unit {} is in no buffer", unit);
        return *found;
    }
    bool is_shared(int unit) const { return own_[usize(unit)] == kShared; }
    // Where a unit goes that is in none: its own, or the shared one whose turn is longest ago.
    Buffer& next(int unit) {
        if (!is_shared(unit)) return buffers_[usize(own_[usize(unit)])];
        Buffer& buffer = *std::min_element(
            buffers_.begin(), buffers_.begin() + static_cast<std::ptrdiff_t>(num_shared_),
            [](const Buffer& a, const Buffer& b) { return a.turn < b.turn; });
        take_turn(buffer);
        return buffer;
    }
    void take_turn(Buffer& buffer) { buffer.turn = ++turns_; }

private:
    static constexpr int kShared = -1;

    void cut(Device& device, MemoryKind kind, DType dtype, const std::vector<std::int64_t>& sizes) {
        std::int64_t total = 0;
        for (const std::int64_t size : sizes)
            total += size;
        memory_ = Tensor(device, kind, dtype, {total});
        std::int64_t first = 0;
        for (const std::int64_t size : sizes) {
            buffers_.emplace_back().memory = memory_->rows(first, size);
            first += size;
        }
    }

    Tensor memory_;
    std::vector<Buffer> buffers_;
    std::size_t num_shared_ = 0;
    std::vector<int> own_;  // by unit
    std::int64_t turns_ = 0;
};

}  // namespace rm
