#include "engine/windows/windows.h"

namespace rm {
namespace {

const RowCut& cut_of(const RankLayout& layout, Rows rows) {
    switch (rows) {
        case Rows::tokens:
            return layout.tokens;
        case Rows::shards:
            return layout.shards;
        case Rows::kept:
            return layout.kept;
        case Rows::kept_shards:
            return layout.kept_shards;
    }
    RM_CHECK(false, "rows {}", static_cast<int>(rows));
}

}  // namespace

TensorView TileWindow::operator()(const Tile& tile) const {
    const bool kept = rows_ == Rows::kept || rows_ == Rows::kept_shards;
    const bool sharded = rows_ == Rows::shards || rows_ == Rows::kept_shards;
    const TokenRange rows = kept ? tile.kept_rows() : tile.range;
    return window_->at(sharded ? shard_of(rows, tensor_) : rows);
}

// The last one first: as it was opened, nothing behind it is in use.
Windows::~Windows() {
    while (!windows_.empty())
        windows_.pop_back();
}

TileWindow Windows::on(TokenStore* store, Rows rows, RowAccess access) {
    if (store == nullptr || store->empty()) return {};
    const RowCut& cut = cut_of(layout_, rows);
    windows_.emplace_back(memory_, *store, visits(cut.ranges, access), cut.most, usize(lanes_));
    return {windows_.back(), rows, layout_.tensor};
}

}  // namespace rm
