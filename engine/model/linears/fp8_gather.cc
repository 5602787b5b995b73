#include "engine/model/linears/fp8_gather.h"

#include <algorithm>
#include <numeric>

namespace rm {
namespace {

// Numbers in a row, as rows for a cast, which takes multiples of 16 columns.
TensorView as_rows(const TensorView& numbers) {
    constexpr std::int64_t kMostColumns = 4096;
    const std::int64_t count = numbers.num_elements(), columns = std::gcd(count, kMostColumns);
    return numbers.reshaped({count / columns, columns});
}

}  // namespace

Fp8Gather::Fp8Gather(const RankStreams& streams, const WeightState& state,
                     const LinearPrecision& precision, const std::function<bool(int)>& uses_all)
    : streams_(streams), state_(state) {
    if (streams.host != nullptr || state.share().stage == 0) return;
    const int num_layers = static_cast<int>(state.table().layers.size());
    for (int layer = 0; layer < num_layers; ++layer) {
        const auto parameters = linears_of(state.table().layers[usize(layer)]);
        const bool in_fp8 = precision.form_of(layer, num_layers) == WeightForm::fp8;
        holds_.push_back(in_fp8 && std::all_of(parameters.begin(), parameters.end(), uses_all));
    }
    if (holds_any()) make_memory();
}

void Fp8Gather::make_memory() {
    Device& device = streams_.kernels.device();
    const std::int64_t ranks = state_.share().zero_size;
    const auto floats = [&](std::initializer_list<std::int64_t> shape) {
        return Tensor(device, MemoryKind::workspace, DType::f32, shape);
    };
    maxima_ = floats({ranks, num_sites()});
    scales_ = floats({num_sites()});
    unused_ = floats({2});
    found_ = device.make_event();
    gathered_ = device.make_event();
    for (int layer = 0; layer < static_cast<int>(holds_.size()); ++layer)
        pieces_.push_back(pieces_of(layer));
}

std::vector<Fp8Gather::Piece> Fp8Gather::pieces_of(int layer) const {
    const auto parameters = linears_of(state_.table().layers[usize(layer)]);
    std::vector<Piece> pieces;
    for (const StatePiece& piece : state_.held()) {
        if (!holds(layer) || piece.unit != unit_of(layer)) continue;
        const auto found = std::find(parameters.begin(), parameters.end(), piece.parameter);
        const std::int64_t first = state_.parameter(piece.parameter).first + piece.first;
        pieces.push_back(
            {static_cast<int>(found - parameters.begin()), piece.weight, {first, piece.count}});
    }
    return pieces;
}

TensorView Fp8Gather::codes(int layer, const TensorView& buffer) const {
    return {buffer.data(), DType::u8, {state_.unit(unit_of(layer)).num_elements}};
}

Fp8Matrix Fp8Gather::weight(int layer, int linear, const TensorView& buffer) const {
    const auto parameters = linears_of(state_.table().layers[usize(layer)]);
    const Parameter& p = state_.parameter(parameters[usize(linear)]);
    const TensorView all = codes(layer, buffer).rows(p.first, p.part_elements());
    return {all.reshaped({p.part_shape[0], p.part_shape[1]}), scale(layer, linear)};
}

// Codes come to lie from the buffer's first byte on, as they travel. Before that the numbers are at
// its end as the compute type has them: two ranks or more share a unit, so both have room.
void Fp8Gather::round(const Ops& ops, int layer, const Piece& piece, const TensorView& buffer,
                      const TensorView& amax, Scaling scaling) const {
    const Part mine = state_.part_in_unit(unit_of(layer));
    const std::int64_t end = state_.unit(unit_of(layer)).num_elements - mine.count;
    const TensorView numbers =
        buffer.rows(end + piece.in_unit.first - mine.first, piece.in_unit.count);
    ops(Copy{piece.master, numbers});
    const TensorView codes =
        this->codes(layer, buffer).rows(piece.in_unit.first, piece.in_unit.count);
    const TensorView scale =
        scaling == Scaling::given ? this->scale(layer, piece.linear) : unused_->rows(0, 1);
    ops(Quantize{as_rows(numbers), {as_rows(codes), scale}, {}, amax, scaling});
}

void Fp8Gather::find_scales(const Ops& ops, const TensorView& scratch) {
    const std::int64_t rank = streams_.communicator.group(GroupKey::gradient).index;
    const TensorView mine = maxima_->rows(rank, 1).reshaped({num_sites()});
    ops(FillZero{mine});
    for (int layer = 0; layer < static_cast<int>(pieces_.size()); ++layer) {
        for (const Piece& piece : pieces_[usize(layer)])
            round(ops, layer, piece, scratch, mine.rows(site(layer, piece.linear), 1),
                  Scaling::current);
    }
    streams_.order.record(streams_.compute, *found_);
    streams_.order.wait(streams_.communication, *found_);
    streams_.communicator.all_gather(GroupKey::gradient, maxima_);
    streams_.order.record(streams_.communication, *gathered_);
    streams_.order.wait(streams_.compute, *gathered_);
    ops(Fp8Scales{maxima_, scales_});
}

void Fp8Gather::round_part(const Ops& ops, int layer, const TensorView& buffer) const {
    for (const Piece& piece : pieces_[usize(layer)])
        round(ops, layer, piece, buffer, unused_->rows(1, 1), Scaling::given);
}

}  // namespace rm
