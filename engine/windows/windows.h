#pragma once

#include <deque>
#include <type_traits>

#include "base/check.h"
#include "engine/windows/rank_layout.h"
#include "engine/windows/tile_task.h"
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

// Has up to `lanes` tiles under way: while the messages of one travel, it queues the work of the
// other. Tiles are in the same place of their schedules or a pause ahead of those behind them, so
// each weight's gradients are summed in the order of the tiles.
class TileLanes {
public:
    // `group`: open on a chunk while any of its tiles is under way. Borrows both.
    TileLanes(WindowGroup& group, const std::vector<Chunk>& chunks, int lanes)
        : group_(group), chunks_(chunks), lanes_(lanes) {}
    TileLanes(const TileLanes&) = delete;
    TileLanes& operator=(const TileLanes&) = delete;

    template <typename Work>
    void run(Work work) {
        for (const Chunk& chunk : chunks_) {
            bool opened = false;
            for (Tile tile : chunk) {
                while (std::ssize(under_way_) == lanes_)
                    go_on();
                if (!std::exchange(opened, true)) group_.open();
                tile.lane = next_lane_;
                next_lane_ = (next_lane_ + 1) % lanes_;
                under_way_.push_back(work(tile));
                drop_finished();
            }
        }
        while (!under_way_.empty())
            go_on();
    }

private:
    // Until a tile is finished.
    void go_on() {
        while (true) {
            for (TileTask& task : under_way_) {
                RM_CHECK(!task.done(), "a tile pauses less often than the one in front of it");
                task.resume();
                if (drop_finished()) return;
            }
        }
    }
    // Tiles finish in their order.
    bool drop_finished() {
        bool any = false;
        for (; !under_way_.empty() && under_way_.front().done(); any = true) {
            under_way_.pop_front();
            if (++finished_ < chunks_[chunk_].size()) continue;
            finished_ = 0;
            ++chunk_;
            group_.close();
        }
        return any;
    }

    WindowGroup& group_;
    const std::vector<Chunk>& chunks_;
    const int lanes_;
    std::deque<TileTask> under_way_;
    int next_lane_ = 0;
    std::size_t chunk_ = 0;     // of the oldest tile under way
    std::size_t finished_ = 0;  // tiles of it
};

// Runs one loop over the tiles of this rank's tokens and moves the windows of all stores it touches
// together from chunk to chunk. List stores that are read before those that are updated, so that
// their rows are fetched first. Borrows all.
class Windows {
public:
    // `lanes`: see TileLanes.
    Windows(StepMemory& memory, const RankLayout& layout, int lanes = 1)
        : memory_(memory), layout_(layout), lanes_(lanes) {}
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
        add_to(group);
        for (const Chunk& chunk : layout_.chunks) {
            group.open();
            work(chunk);
            group.close();
        }
    }
    // `work` of a tile may be a TileTask: then several tiles may be under way.
    template <typename Work>
    void for_each(Work work) {
        if constexpr (std::is_void_v<std::invoke_result_t<Work, const Tile&>>) {
            for_each_chunk([&](const Chunk& chunk) {
                for (const Tile& tile : chunk)
                    work(tile);
            });
        } else {
            WindowGroup group(memory_);
            add_to(group);
            TileLanes(group, layout_.chunks, lanes_).run(std::move(work));
        }
    }

    StepMemory& memory() const { return memory_; }
    const RankLayout& layout() const { return layout_; }

private:
    void add_to(WindowGroup& group) {
        for (TokenWindow& window : windows_)
            group.add(window);
    }

    StepMemory& memory_;
    const RankLayout& layout_;
    const int lanes_;
    std::deque<TokenWindow> windows_;
};

}  // namespace rm
