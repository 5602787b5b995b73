#include "engine/memory/step_arena.h"

#include <algorithm>

#include "base/check.h"

namespace rm {
namespace {

std::int64_t rounded(Bytes size) {
    const std::int64_t unit = kArenaAlignment.value;
    return std::max<std::int64_t>(1, (size.value + unit - 1) / unit) * unit;
}

}  // namespace

std::string to_string(const BufferName& name) {
    return name.layer < 0 ? std::string(name.what)
                          : format("{} of layer {}", name.what, name.layer);
}

TensorView RequestRecorder::request(BufferName name, DType dtype,
                                    std::initializer_list<std::int64_t> shape) {
    const Bytes size = TensorView(nullptr, dtype, shape).num_bytes();
    pass_.requests.push_back({std::string(name.what), name.layer, size, {}});
    pass_.trace.blocks.push_back({time_++, -1, {rounded(size)}});
    addresses_.push_back(listener_.requested(name, size));
    return {addresses_.back(), dtype, shape};
}

void RequestRecorder::release(const TensorView& buffer) {
    // Latest first: what is released soon is found soon.
    const auto found = std::find(addresses_.rbegin(), addresses_.rend(), buffer.data());
    RM_CHECK(found != addresses_.rend(), "a buffer is released that this arena did not give");
    const auto index = usize(addresses_.rend() - found) - 1;
    ArenaBlock& block = pass_.trace.blocks[index];
    RM_CHECK(block.upper < 0, "{} is released twice", pass_.requests[index].what);
    block.upper = time_++;
    listener_.released(buffer.data());
}

PassRequests RequestRecorder::take() {
    for (std::size_t i = 0; i < pass_.requests.size(); ++i) {
        RM_CHECK(pass_.trace.blocks[i].upper >= 0, "{} is not released at the end of its pass",
                 to_string(BufferName{pass_.requests[i].what, pass_.requests[i].layer}));
    }
    addresses_.clear();
    time_ = 0;
    return std::exchange(pass_, {});
}

void PlannedArena::begin(const PassRequests& pass) {
    RM_CHECK(num_live_ == 0, "{} buffers of {} are live before a pass", num_live_, name_);
    pass_ = &pass;
    next_ = 0;
}

void PlannedArena::end() {
    RM_CHECK(num_live_ == 0, "{} buffers of {} are live after a pass", num_live_, name_);
    RM_CHECK(next_ == pass_->requests.size(), "{} of the {} planned requests of {} were made",
             next_, pass_->requests.size(), name_);
    pass_ = nullptr;
}

TensorView PlannedArena::request(BufferName name, DType dtype,
                                 std::initializer_list<std::int64_t> shape) {
    const Bytes size = TensorView(nullptr, dtype, shape).num_bytes();
    RM_CHECK(pass_ != nullptr && next_ < pass_->requests.size(),
             "{}: {} with {} is requested where the plan has no request", name_, to_string(name),
             size);
    const ArenaRequest& planned = pass_->requests[next_++];
    RM_CHECK(planned.what == name.what && planned.layer == name.layer && planned.size == size,
             "{}: request {} is {} with {}; the plan has {} with {}", name_, next_ - 1,
             to_string(name), size, to_string(BufferName{planned.what, planned.layer}),
             planned.size);
    RM_CHECK(planned.offset + size <= size_, "{}: {} ends at {}, the arena has {}", name_,
             to_string(name), planned.offset + size, size_);
    ++num_live_;
    return {static_cast<std::byte*>(memory_) + planned.offset.value, dtype, shape};
}

void PlannedArena::release(const TensorView& /*buffer*/) {
    --num_live_;
}

}  // namespace rm
