#include "engine/model/whole_weights.h"

#include <algorithm>

namespace rm {
namespace {

// 8 MiB of f32: long messages, and little beside a device that is full.
constexpr std::int64_t kBlockElements = 1 << 21;

// The first element of the parameter's part that is at or after `whole` in the whole tensor.
std::int64_t part_element_at(const Parameter& p, const StatePiece& piece, std::int64_t whole) {
    std::int64_t first = piece.first;
    std::int64_t end = piece.first + piece.count;
    while (first < end) {
        const std::int64_t middle = first + (end - first) / 2;
        if (p.whole_index(middle) < whole) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

}  // namespace

WholeWeights::WholeWeights(const RankStreams* streams, const WeightState& state)
    : streams_(streams),
      state_(state),
      dtype_(state.held().front().weight.dtype()),
      device_(streams != nullptr ? streams->kernels.device() : state.device()),
      block_(device_, MemoryKind::communication, dtype_, {kBlockElements}),
      host_(usize(kBlockElements * size_of(dtype_))),
      piece_(host_.size()) {
    RM_CHECK(streams != nullptr || state.share().world_size == 1, "{} ranks without a way between",
             state.share().world_size);
}

// Writes the elements of [first, first + count) that this rank owns, and zeros elsewhere.
template <typename T>
void WholeWeights::fill(int parameter, std::int64_t first, std::int64_t count) {
    const Parameter& p = state_.parameter(parameter);
    T* block = reinterpret_cast<T*>(host_.data());
    T* elements = reinterpret_cast<T*>(piece_.data());
    std::fill_n(block, count, T(0));
    for (const StatePiece& piece : state_.owned()) {
        if (piece.parameter != parameter) continue;
        const std::int64_t begin = part_element_at(p, piece, first);
        const std::int64_t end = part_element_at(p, piece, first + count);
        if (begin == end) continue;
        state_.device().read(piece.weight.rows(begin - piece.first, end - begin), elements);
        const std::int64_t row = p.cut == Cut::columns ? p.part_shape[1] : end;
        for (std::int64_t i = begin; i < end;) {
            const std::int64_t run = std::min(end - i, row - i % row);
            std::copy_n(elements + (i - begin), run, block + (p.whole_index(i) - first));
            i += run;
        }
    }
}

TensorView WholeWeights::next_block(int parameter, std::int64_t first) {
    const std::int64_t total = state_.parameter(parameter).num_elements();
    const std::int64_t count = std::min(kBlockElements, total - first);
    dtype_ == DType::f64 ? fill<double>(parameter, first, count)
                         : fill<float>(parameter, first, count);
    next_element_ = first + count;
    if (next_element_ == total) {
        ++next_parameter_;
        next_element_ = 0;
    }
    const TensorView host(host_.data(), dtype_, {count});
    if (state_.share().world_size == 1) return host;
    const TensorView block = block_->rows(0, count);
    device_.write(host_.data(), block);
    const std::int64_t words = count * size_of(dtype_) / size_of(DType::i32);
    streams_->communicator.all_reduce_sum(GroupKey::world,
                                          TensorView(block.data(), DType::i32, {words}));
    streams_->communication.synchronize();
    device_.read(block, host_.data());
    return host;
}

Status WholeWeights::read(int parameter, const Visitor& visit) {
    RM_CHECK(parameter == next_parameter_ && next_element_ == 0,
             "parameter {} is read, the next one is {}", parameter, next_parameter_);
    while (next_parameter_ == parameter) {
        const std::int64_t first = next_element_;
        RM_RETURN_IF_ERROR(visit(first, next_block(parameter, first)));
    }
    return {};
}

void WholeWeights::finish() {
    while (next_parameter_ < static_cast<int>(table().all.size()))
        next_block(next_parameter_, next_element_);
}

}  // namespace rm
