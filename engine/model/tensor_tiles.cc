#include "engine/model/tensor_tiles.h"

namespace rm {

TensorTiles::TensorTiles(const RankStreams& streams, const RankShapes& shapes, int size, int index)
    : size_(size), index_(index), exchange_(streams) {
    const auto make = [&](MemoryKind kind, std::int64_t rows) {
        return Tensor(streams.kernels.device(), kind, streams.kernels.types().compute,
                      {rows, shapes.C});
    };
    whole_ = make(MemoryKind::activations, shapes.tile);
    partial_ = make(MemoryKind::activations, shapes.tile);
    if (size == 1) return;
    parts_ = make(MemoryKind::communication, shapes.tile);
    sum_ = make(MemoryKind::communication, shapes.tile / size);
}

TensorView TensorTiles::place(const TokenRange& tile) const {
    const std::int64_t rows = tile.count / size_;
    return whole_->rows(index_ * rows, rows);
}

TensorView TensorTiles::gather(const Ops& /*ops*/, const TokenRange& tile) {
    const TensorView whole = whole_->rows(0, tile.count);
    gather_parts(whole);
    return whole;
}

TensorView TensorTiles::gather(const Ops& ops, const TokenRange& tile, const TensorView& shard) {
    if (size_ == 1) return shard;
    ops(Copy{shard, place(tile)});
    return gather(ops, tile);
}

TensorView TensorTiles::partial(const TokenRange& tile) const {
    return partial_->rows(0, tile.count);
}

// The group's partial sums of this rank's shard, (G, tile / G, C).
TensorView TensorTiles::exchange(const Ops& ops, const TokenRange& tile) {
    const std::int64_t rows = tile.count / size_;
    const TensorView parts = parts_->rows(0, tile.count);
    ops(Copy{partial_->rows(index_ * rows, rows), parts.rows(index_ * rows, rows)});
    exchange_([&](Communicator& communicator) {
        communicator.all_to_all(GroupKey::tensor, partial(tile), parts);
    });
    return parts.reshaped({size_, rows, parts.dim(1)});
}

TensorView TensorTiles::reduce(const Ops& ops, const TokenRange& tile) {
    if (size_ == 1) return partial(tile);
    const TensorView sum = sum_->rows(0, tile.count / size_);
    ops(SumParts{exchange(ops, tile), sum});
    return sum;
}

void TensorTiles::add_linear(const Ops& ops, const TokenRange& tile, const TensorView& x,
                             const PreparedWeight* weight, const TensorView& y) {
    if (size_ == 1) return ops(LinearFwd{x, weight, y, Into::add});
    ops(LinearFwd{x, weight, partial(tile)});
    ops(SumParts{exchange(ops, tile), y, Into::add});
}

void TensorTiles::gather_parts(const TensorView& parts) {
    if (size_ == 1) return;
    exchange_(
        [&](Communicator& communicator) { communicator.all_gather(GroupKey::tensor, parts); });
}

}  // namespace rm
