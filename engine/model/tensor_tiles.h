#pragma once

#include <vector>

#include "engine/model/activations.h"
#include "engine/streams/ops.h"
#include "engine/streams/rank_streams.h"
#include "engine/windows/windows.h"
#include "spec/model_preset.h"
#include "spec/precision/message_numbers.h"

namespace rm {

// Tensor parallelism with sequence shards (Korthikanti et al., Reducing Activation Recomputation in
// Large Transformer Models), a tile at a time: the residual stream lies sharded by token, rank i of
// the tensor group holding the i-th part of every tile; before a product that is cut by columns of
// its output the tile is gathered, after one that is cut along its sum the partial results are
// summed and each rank keeps its part. In a group of one nothing is copied or moved. Sums are
// formed in rank order in the accumulation type and rounded once. Tiles that layers gather may
// travel as codes; then all ranks, the sender too, go on with the rounded numbers.
class TensorTiles {
public:
    TensorTiles(const RankStreams& streams, const RankShapes& shapes, const RankLayout& layout,
                MessageNumbers numbers);

    // Where this rank writes its shard of a tile that is to be gathered: (tile / tensor, C).
    TensorView place(const Tile& tile) const;
    // After that: the whole tile (tile, C), until the next call for its lane.
    auto gather(const Tile& tile) {
        const TensorView whole = whole_of(tile);
        start_gather(tile, whole);
        return Arrival(size_ > 1, [this, tile, whole] {
            arrive(tile);
            return whole;
        });
    }
    // The same for a shard that lies elsewhere.
    auto gather(const Ops& ops, const Tile& tile, const TensorView& shard) {
        if (size_ > 1) ops(Copy{shard, place(tile)});
        const TensorView whole = size_ > 1 ? whole_of(tile) : shard;
        start_gather(tile, whole);
        return Arrival(size_ > 1, [this, tile, whole] {
            arrive(tile);
            return whole;
        });
    }
    // The same two within a layer.
    auto gather_in_layer(const Ops& ops, const Tile& tile, const TensorView& shard) {
        const TensorView whole = size_ > 1 ? whole_of(tile) : shard;
        start_in_layer(ops, tile, shard, whole);
        return Arrival(size_ > 1, [this, &ops, tile, whole] {
            arrive_in_layer(ops, tile, whole);
            return whole;
        });
    }
    auto gather_in_layer(const Ops& ops, const Tile& tile) {
        return gather_in_layer(ops, tile, size_ > 1 ? place(tile) : whole_of(tile));
    }

    // Where partial sums of a tile are formed: (tile, C).
    TensorView partial(const Tile& tile) const;
    // After that: this rank's shard of the sum (tile / tensor, C), until the next call for its
    // lane.
    auto reduce(const Ops& ops, const Tile& tile) {
        start_exchange(ops, tile);
        return Arrival(size_ > 1, [this, &ops, tile] { return sum(ops, tile); });
    }
    // y += x W^T, summed over the group: y is the shard.
    auto add_linear(const Ops& ops, const Tile& tile, const LinearOperand& x,
                    const PreparedWeight* weight, const TensorView& y) {
        start_linear(ops, tile, x, weight, y);
        return Arrival(size_ > 1, [this, &ops, tile, y] { add_sum(ops, tile, y); });
    }
    // A tile whose work leaves out exchanges pauses as often as others, so that tiles keep step.
    Arrival<void (*)()> pause() const {
        return {size_ > 1, [] {}};
    }

    // parts (G, ...): this rank's is in place; afterwards all are.
    auto gather_parts(const Tile& tile, const TensorView& parts) {
        start_gather(tile, parts);
        return Arrival(size_ > 1, [this, tile] { arrive(tile); });
    }

    int size() const { return size_; }
    int index() const { return index_; }
    StreamTimer& exposed() { return exchange_.exposed(); }

private:
    struct Lane {
        Tensor whole;    // (tile, C) compute
        Tensor partial;  // (tile, C) compute
        Tensor parts;    // (tile, C) compute: one part per rank; none in a group of one
        Tensor sum;      // (tile / tensor, C) compute; likewise
        Tensor codes;    // (tile, words) i32, see PackRows; none where layers gather numbers
    };
    const Lane& lane(const Tile& tile) const { return lanes_[usize(tile.lane)]; }
    TensorView whole_of(const Tile& tile) const;
    TensorView parts_of(const Tile& tile) const;
    TensorView codes_of(const Tile& tile) const;
    bool rounds() const { return size_ > 1 && numbers_ == MessageNumbers::fp8; }
    void start_gather(const Tile& tile, const TensorView& whole);
    void start_in_layer(const Ops& ops, const Tile& tile, const TensorView& shard,
                        const TensorView& whole);
    void arrive_in_layer(const Ops& ops, const Tile& tile, const TensorView& whole);
    void start_exchange(const Ops& ops, const Tile& tile);
    void start_linear(const Ops& ops, const Tile& tile, const LinearOperand& x,
                      const PreparedWeight* weight, const TensorView& y);
    void arrive(const Tile& tile);
    TensorView sum(const Ops& ops, const Tile& tile);
    void add_sum(const Ops& ops, const Tile& tile, const TensorView& y);

    int size_;
    int index_;
    MessageNumbers numbers_;
    std::vector<Lane> lanes_;
    ExposedExchange exchange_;
};

// Everything but weights that a loop over tiles works with; borrowed.
struct TileContext {
    const ModelConfig& model;
    const RankLayout& layout;
    StepMemory& memory;
    std::vector<TileScratch>& lanes;
    TensorTiles& tiles;
    const Ops& ops;

    // For the next loop.
    Windows windows() const {
        memory.settle();
        return {memory, layout, layout.lanes()};
    }
    TileScratch& scratch(const Tile& tile) const { return lanes[usize(tile.lane)]; }
};

}  // namespace rm
