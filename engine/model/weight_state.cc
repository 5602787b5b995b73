#include "engine/model/weight_state.h"

#include <algorithm>

#include "base/random.h"
#include "engine/comm/collectives.h"
#include "kernels/host_blocks.h"

namespace rm {
namespace {

// Elements first, first + 1, ... of a parameter's part. Rounded to f32 whatever T is, so that every
// backend starts from the same numbers.
template <typename T>
void fill_normal(const TensorView& out, const Parameter& parameter, std::int64_t first,
                 std::uint64_t seed, std::uint64_t stream) {
    T* data = out.as<T>();
    const double std = parameter.init_std;
    for (std::int64_t i = 0; i < out.num_elements(); ++i) {
        const auto element = static_cast<std::uint64_t>(parameter.whole_index(first + i));
        data[i] = static_cast<float>(std == 0 ? 1.0 : std * normal_at(seed, stream, element));
    }
}

WeightShare effective(WeightShare share, const StateTypes& types, const Kernels* host) {
    if (share.zero_size == 1) share.stage = 0;  // a single rank shares with none
    if (host != nullptr || types.gradients) share.stage = std::max(share.stage, 2);
    return share;
}

}  // namespace

WeightState::WeightState(Kernels& kernels, const ModelConfig& model, const WeightShare& share,
                         const StateTypes& types, Kernels* host)
    : device_(host != nullptr ? host->device() : kernels.device()),
      share_(effective(share, types, host)),
      table_(make_parameters(model, share_)) {
    allocate(kernels, types, host);
    list_pieces();
}

void WeightState::allocate(Kernels& kernels, const StateTypes& kept, const Kernels* host) {
    const NumericTypes types = kernels.types();
    RM_CHECK(host == nullptr ||
                 (host->types().accum == types.accum && host->types().master == types.master),
             "state of {} on the host, whose kernels have {}", to_string(types.master),
             host == nullptr ? "" : to_string(host->types().master));
    const auto make = [&](MemoryKind kind, DType dtype, std::int64_t elements) {
        TensorView view(nullptr, dtype, {elements});
        if (host == nullptr) {
            view = device_memory_.emplace_back(Tensor(device_, kind, dtype, {elements}));
        } else {
            host_memory_.emplace_back(kernels.device(), view.num_bytes());
            host_bytes_[usize(kind)] += view.num_bytes();
            view = TensorView(host_memory_.back().data(), dtype, {elements});
        }
        // Padding between parameters is summed, squared and gathered with the rest: it must be
        // zero.
        device_.zero(view);
        return view;
    };
    const std::int64_t whole = table_.unit_elements;
    const std::int64_t part = whole / share_.zero_size;
    const DType moments = kept.moments.value_or(types.accum);
    const auto make_flat = [&](std::int64_t state, DType gradient, std::int64_t gradients) {
        if (kept.weights_only) return Flat{make(MemoryKind::weights, types.master, state)};
        return Flat{make(MemoryKind::weights, types.master, state),
                    make(MemoryKind::gradients, gradient, gradients),
                    make(MemoryKind::optimizer, moments, state),
                    make(MemoryKind::optimizer, moments, state)};
    };
    units_ = make_flat(state_whole() ? whole : part, kept.gradients.value_or(types.accum),
                       grads_whole() ? whole : part);
    norms_ = make_flat(table_.norm_elements, types.accum, table_.norm_elements);
}

Part WeightState::part_in_unit(int index) const {
    const std::int64_t count = unit(index).num_elements / share_.zero_size;
    return {count * share_.zero_index, count};
}

TensorView WeightState::part_of_unit(const TensorView& units, bool whole, int index) const {
    const Part part = part_in_unit(index);
    const std::int64_t first = unit(index).first;
    return units.rows(whole ? first + part.first : first / share_.zero_size, part.count);
}

TensorView WeightState::master_part(int index) const {
    return part_of_unit(units_.weights, state_whole(), index);
}

TensorView WeightState::grad_part(int index) const {
    return part_of_unit(units_.grads, grads_whole(), index);
}

TensorView WeightState::whole_weights(int index) const {
    RM_CHECK(state_whole(), "whole weights at ZeRO stage {}", share_.stage);
    return units_.weights.rows(unit(index).first, unit(index).num_elements);
}

TensorView WeightState::whole_grads(int index) const {
    RM_CHECK(grads_whole(), "whole gradients at ZeRO stage {}", share_.stage);
    return units_.grads.rows(unit(index).first, unit(index).num_elements);
}

TensorView WeightState::view(const TensorView& units, const TensorView& norms, int index) const {
    const Parameter& p = parameter(index);
    if (p.unit == ParameterTable::kNoUnit) return norms.rows(p.first, p.part_elements());
    RM_CHECK(units.num_elements() == table_.unit_elements, "{} is not whole on this rank", p.name);
    return units.rows(unit(p.unit).first + p.first, p.part_elements())
        .reshaped({p.part_shape[0], p.part_shape[1]});
}

// `state`, `grad`: where the piece begins in the flat buffers.
StatePiece WeightState::piece_at(const Flat& flat, StatePiece piece, std::int64_t state,
                                 std::int64_t grad) {
    piece.weight = flat.weights.rows(state, piece.count);
    if (flat.grads.empty()) return piece;
    piece.grad = flat.grads.rows(grad, piece.count);
    piece.moment1 = flat.moments1.rows(state, piece.count);
    piece.moment2 = flat.moments2.rows(state, piece.count);
    return piece;
}

StatePiece WeightState::norm_piece(int index, Part range) const {
    const std::int64_t first = parameter(index).first + range.first;
    const StatePiece piece{.parameter = index,
                           .unit = parameter(index).unit,
                           .first = range.first,
                           .count = range.count};
    return piece_at(norms_, piece, first, first);
}

// `range`: elements of the parameter's part that its unit `block` has.
StatePiece WeightState::unit_piece(int index, int block, Part range) const {
    const Parameter& p = parameter(index);
    const StatePiece piece{
        .parameter = index, .unit = p.unit + block, .first = range.first, .count = range.count};
    const std::int64_t first = unit(piece.unit).first;
    const std::int64_t in_unit = p.first + range.first - p.block_elements(block).first;
    const std::int64_t whole = first + in_unit;
    const std::int64_t sharded =
        first / share_.zero_size + in_unit - part_in_unit(piece.unit).first;
    return piece_at(units_, piece, state_whole() ? whole : sharded,
                    grads_whole() ? whole : sharded);
}

void WeightState::list_norm(int index) {
    const Part all{0, parameter(index).part_elements()};
    held_.push_back(norm_piece(index, all));
    const Part mine = part_of(all.count, share_.world_size, share_.world_rank);
    if (mine.count > 0) owned_.push_back(norm_piece(index, mine));
}

void WeightState::list_block(int index, int block) {
    const Parameter& p = parameter(index);
    const Part all = p.block_elements(block);
    const Part part = part_in_unit(p.unit + block);
    const std::int64_t first = all.first - p.first;  // of the unit, in the parameter's part
    const std::int64_t begin = std::max(first + part.first, all.first);
    const std::int64_t end = std::min(first + part.first + part.count, all.first + all.count);
    const Part mine{begin, end - begin};
    const bool replicated = p.cut == Cut::none && share_.tensor > 1;
    if (state_whole()) held_.push_back(unit_piece(index, block, all));
    if (mine.count > 0) {
        const StatePiece piece = unit_piece(index, block, mine);
        if (!state_whole()) held_.push_back(piece);
        if (!replicated || share_.tensor_index == 0) owned_.push_back(piece);
    }
    const bool holds = state_whole() || mine.count > 0;
    if (!replicated || !holds) return;
    const StatePiece& held = held_.back();
    tensor_shared_grads_.push_back(
        {held.unit, {p.first + held.first - all.first, held.count}, held.grad});
}

void WeightState::list_pieces() {
    for (int i = 0; i < static_cast<int>(table_.all.size()); ++i) {
        if (parameter(i).unit == ParameterTable::kNoUnit) {
            list_norm(i);
            continue;
        }
        for (int block = 0; block < parameter(i).num_units; ++block)
            list_block(i, block);
    }
}

void WeightState::initialize(std::uint64_t seed) {
    HostBlocks blocks(device_);
    const auto fill =
        units_.weights.dtype() == DType::f64 ? fill_normal<double> : fill_normal<float>;
    for (const StatePiece& piece : held_) {
        const Status filled =
            blocks.write(piece.weight, [&](std::int64_t first, const TensorView& block) {
                fill(block, parameter(piece.parameter), piece.first + first, seed,
                     static_cast<std::uint64_t>(piece.parameter));
                return Status();
            });
        RM_CHECK(filled.ok(), "{}", filled.error().message);
    }
    zero_moments();
}

void WeightState::zero_moments() {
    for (const TensorView* moments :
         {&units_.moments1, &units_.moments2, &norms_.moments1, &norms_.moments2})
        if (!moments->empty()) device_.zero(*moments);
}

}  // namespace rm
