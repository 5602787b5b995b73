#pragma once

#include <deque>

#include "engine/windows/rank_layout.h"
#include "engine/windows/token_store.h"

namespace rm {

// The rows of a store that belong to a tile: one per token, or per token of this tensor rank's
// shard; of a store of all tokens, or of the kept ones.
enum class Rows { tokens, shards, kept, kept_shards };

// A store's rows of the tile at hand, wherever the store lies.
class TileWindow {
public:
    TileWindow() = default;  // of nothing
    bool empty() const { return window_ == nullptr; }
    TensorView operator()(const Tile& tile) const;
    // The rows of the whole open chunk.
    TensorView chunk() const { return window_->rows(); }

private:
    friend class Windows;
    TileWindow(const TokenWindow& window, Rows rows, int tensor)
        : window_(&window), rows_(rows), tensor_(tensor) {}

    const TokenWindow* window_ = nullptr;
    Rows rows_ = Rows::tokens;
    int tensor_ = 1;
};

// Runs one loop over the tiles of this rank's tokens and moves the windows of all stores it touches
// together from chunk to chunk. List stores that are read before those that are updated, so that
// their rows are fetched first. Borrows all.
class Windows {
public:
    Windows(StepMemory& memory, const RankLayout& layout) : memory_(memory), layout_(layout) {}
    Windows(const Windows&) = delete;
    Windows& operator=(const Windows&) = delete;
    ~Windows();

    // An empty store, or null, gives an empty window.
    TileWindow on(TokenStore* store, Rows rows, RowAccess access);
    TileWindow read(TokenStore& store, Rows rows) { return on(&store, rows, RowAccess::read); }
    TileWindow write(TokenStore& store, Rows rows) { return on(&store, rows, RowAccess::write); }
    TileWindow update(TokenStore& store, Rows rows) { return on(&store, rows, RowAccess::update); }

    // Calls `work` for every chunk or tile, ascending, with the windows open on its chunk. The
    // windows serve one loop only.
    template <typename Work>
    void for_each_chunk(Work work) {
        WindowGroup group(memory_);
        for (TokenWindow& window : windows_)
            group.add(window);
        for (const Chunk& chunk : layout_.chunks) {
            group.open();
            work(chunk);
            group.close();
        }
    }
    template <typename Work>
    void for_each(Work work) {
        for_each_chunk([&](const Chunk& chunk) {
            for (const Tile& tile : chunk)
                work(tile);
        });
    }

private:
    StepMemory& memory_;
    const RankLayout& layout_;
    std::deque<TokenWindow> windows_;
};

}  // namespace rm
