#pragma once

#include <memory>

#include "engine/streams/ops.h"
#include "engine/streams/rank_streams.h"
#include "engine/windows/rank_layout.h"

namespace rm {

// Tensor parallelism with sequence shards (Korthikanti et al., Reducing Activation Recomputation in
// Large Transformer Models), a tile at a time: the residual stream lies sharded by token, rank i of
// the tensor group holding the i-th part of every tile; before a product that is cut by columns of
// its output the tile is gathered, after one that is cut along its sum the partial results are
// summed and each rank keeps its part. In a group of one nothing is copied or moved. Sums are
// formed in rank order in the accumulation type and rounded once.
class TensorTiles {
public:
    TensorTiles(const RankStreams& streams, const RankShapes& shapes, int size, int index);

    // Where this rank writes its shard of a tile that is to be gathered: (tile / tensor, C).
    TensorView place(const TokenRange& tile) const;
    // After that: the whole tile (tile, C), until the next call.
    TensorView gather(const Ops& ops, const TokenRange& tile);
    // The same for a shard that lies elsewhere.
    TensorView gather(const Ops& ops, const TokenRange& tile, const TensorView& shard);

    // Where partial sums of a tile are formed: (tile, C).
    TensorView partial(const TokenRange& tile) const;
    // After that: this rank's shard of the sum (tile / tensor, C), until the next call.
    TensorView reduce(const Ops& ops, const TokenRange& tile);
    // y += x W^T, summed over the group: y is the shard.
    void add_linear(const Ops& ops, const TokenRange& tile, const TensorView& x,
                    const PreparedWeight* weight, const TensorView& y);

    // parts (G, ...): this rank's is in place; afterwards all are.
    void gather_parts(const TensorView& parts);

    int size() const { return size_; }
    int index() const { return index_; }
    StreamTimer& exposed() { return exchange_.exposed(); }

private:
    TensorView exchange(const Ops& ops, const TokenRange& tile);

    int size_;
    int index_;
    Tensor whole_;    // (tile, C) compute
    Tensor partial_;  // (tile, C) compute
    Tensor parts_;    // (tile, C) compute: one part per rank; none in a group of one
    Tensor sum_;      // (tile / tensor, C) compute; likewise
    ExposedExchange exchange_;
};

}  // namespace rm
