#include "engine/model/tensor_tiles.h"

namespace rm {

TensorTiles::TensorTiles(const RankStreams& streams, const RankShapes& shapes,
                         const RankLayout& layout, MessageNumbers numbers)
    : size_(layout.tensor),
      index_(layout.tensor_index),
      numbers_(numbers),
      exchange_(streams, layout.lanes()) {
    const auto make = [&](MemoryKind kind, std::int64_t rows) {
        return Tensor(streams.kernels.device(), kind, streams.kernels.types().compute,
                      {rows, shapes.C});
    };
    for (int i = 0; i < layout.lanes(); ++i) {
        Lane& lane = lanes_.emplace_back();
        lane.whole = make(MemoryKind::activations, shapes.tile);
        lane.partial = make(MemoryKind::activations, shapes.tile);
        if (size_ == 1) continue;
        lane.parts = make(MemoryKind::communication, shapes.tile);
        lane.sum = make(MemoryKind::communication, shapes.tile / size_);
        if (!rounds()) continue;
        lane.codes = Tensor(streams.kernels.device(), MemoryKind::communication, DType::i32,
                            {shapes.tile, packed_words(shapes.C)});
    }
}

TensorView TensorTiles::place(const Tile& tile) const {
    const std::int64_t rows = tile.range.count / size_;
    return lane(tile).whole->rows(index_ * rows, rows);
}

TensorView TensorTiles::whole_of(const Tile& tile) const {
    return lane(tile).whole->rows(0, tile.range.count);
}

TensorView TensorTiles::partial(const Tile& tile) const {
    return lane(tile).partial->rows(0, tile.range.count);
}

// The group's partial sums of this rank's shard, (G, tile / G, C).
TensorView TensorTiles::parts_of(const Tile& tile) const {
    const TensorView parts = lane(tile).parts->rows(0, tile.range.count);
    return parts.reshaped({size_, tile.range.count / size_, parts.dim(1)});
}

void TensorTiles::start_gather(const Tile& tile, const TensorView& whole) {
    if (size_ == 1) return;
    exchange_.start(tile.lane, [&](Communicator& communicator) {
        communicator.all_gather(GroupKey::tensor, whole);
    });
}

TensorView TensorTiles::codes_of(const Tile& tile) const {
    return lane(tile).codes->rows(0, tile.range.count);
}

void TensorTiles::start_in_layer(const Ops& ops, const Tile& tile, const TensorView& shard,
                                 const TensorView& whole) {
    if (size_ == 1) return;
    if (rounds()) {
        const std::int64_t rows = tile.range.count / size_;
        ops(PackRows{shard, codes_of(tile).rows(index_ * rows, rows)});
        return start_gather(tile, codes_of(tile));
    }
    const bool is_in_place = shard.data() == place(tile).data();
    if (!is_in_place) ops(Copy{shard, place(tile)});
    start_gather(tile, whole);
}

void TensorTiles::arrive_in_layer(const Ops& ops, const Tile& tile, const TensorView& whole) {
    arrive(tile);
    if (rounds()) ops(UnpackRows{codes_of(tile), whole});
}

void TensorTiles::start_exchange(const Ops& ops, const Tile& tile) {
    if (size_ == 1) return;
    const std::int64_t rows = tile.range.count / size_;
    const TensorView parts = lane(tile).parts->rows(0, tile.range.count);
    ops(Copy{partial(tile).rows(index_ * rows, rows), parts.rows(index_ * rows, rows)});
    exchange_.start(tile.lane, [&](Communicator& communicator) {
        communicator.all_to_all(GroupKey::tensor, partial(tile), parts);
    });
}

void TensorTiles::start_linear(const Ops& ops, const Tile& tile, const LinearOperand& x,
                               const PreparedWeight* weight, const TensorView& y) {
    if (size_ == 1) return linear(ops, x, weight, y, Into::add);
    linear(ops, x, weight, partial(tile));
    start_exchange(ops, tile);
}

void TensorTiles::arrive(const Tile& tile) {
    if (size_ > 1) exchange_.arrive(tile.lane);
}

TensorView TensorTiles::sum(const Ops& ops, const Tile& tile) {
    if (size_ == 1) return partial(tile);
    arrive(tile);
    const TensorView sum = lane(tile).sum->rows(0, tile.range.count / size_);
    ops(SumParts{parts_of(tile), sum});
    return sum;
}

void TensorTiles::add_sum(const Ops& ops, const Tile& tile, const TensorView& y) {
    if (size_ == 1) return;
    arrive(tile);
    ops(SumParts{parts_of(tile), y, Into::add});
}

}  // namespace rm
