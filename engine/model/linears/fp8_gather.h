#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/model/linears/linear_precision.h"
#include "engine/model/weight_state.h"
#include "engine/streams/ops.h"
#include "engine/streams/rank_streams.h"

namespace rm {

// Parameters of a layer's linears, in the order in which all lists of them are.
constexpr std::int64_t kNumLinears = 7;
inline std::array<int, kNumLinears> linears_of(const LayerParameters& p) {
    return {p.q, p.k, p.v, p.o, p.gate, p.up, p.down};
}

// Layers in FP8 as the ranks of a ZeRO group gather them: each rank rounds its part of a unit, and
// codes travel, half the bytes of bf16. A scale is that of the whole tensor, whose largest number
// the ranks find together after each update; so codes are those that prepare() makes of gathered
// numbers, bit for bit.
class Fp8Gather {
public:
    // Borrows streams and state. `uses_all(parameter)`: whether the rank uses all rows of its part;
    // a layer of which it does not is gathered in the compute type.
    Fp8Gather(const RankStreams& streams, const WeightState& state,
              const LinearPrecision& precision, const std::function<bool(int)>& uses_all);

    bool holds(int layer) const { return !holds_.empty() && holds_[usize(layer)]; }
    bool holds_any() const { return std::find(holds_.begin(), holds_.end(), true) != holds_.end(); }

    // After an update: finds all scales. Collective. `scratch`: a unit's buffer.
    void find_scales(const Ops& ops, const TensorView& scratch);
    // Rounds this rank's part of a layer to where the gather takes it from.
    void round_part(const Ops& ops, int layer, const TensorView& buffer) const;
    // The codes that travel: (elements of the unit) u8, in a buffer for as many numbers.
    TensorView codes(int layer, const TensorView& buffer) const;
    // A linear's weight, once the layer has been gathered.
    Fp8Matrix weight(int layer, int linear, const TensorView& buffer) const;

private:
    // The elements of a linear that this rank owns.
    struct Piece {
        int linear = 0;
        TensorView master;
        Part in_unit;
    };
    void make_memory();
    std::vector<Piece> pieces_of(int layer) const;
    int unit_of(int layer) const { return state_.table().layer_unit(layer); }
    static std::int64_t site(int layer, int linear) { return kNumLinears * layer + linear; }
    std::int64_t num_sites() const { return site(static_cast<int>(holds_.size()), 0); }
    TensorView scale(int layer, int linear) const { return scales_->rows(site(layer, linear), 1); }
    void round(const Ops& ops, int layer, const Piece& piece, const TensorView& buffer,
               const TensorView& amax, Scaling scaling) const;

    RankStreams streams_;
    const WeightState& state_;
    std::vector<bool> holds_;                  // by layer; empty: no codes travel
    std::vector<std::vector<Piece>> pieces_;   // by layer
    Tensor maxima_;                            // (ranks, sites) f32: of each rank's pieces
    Tensor scales_;                            // (sites) f32
    Tensor unused_;                            // (2) f32: results of casts that nothing reads
    std::unique_ptr<Event> found_, gathered_;  // maxima, on this rank and on all
};

}  // namespace rm
