#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/usize.h"
#include "kernels/cpu/workers.h"

namespace rm::cpu {

// A grid of blocks (i, j), once per lane, of which only some are active. Each runs after the active
// ones before it in its row i and in its column j, in their order; all else may run at once.
class BlockGrid {
public:
    BlockGrid(std::int64_t num_i, std::int64_t num_j, std::int64_t num_lanes)
        : num_i_(num_i),
          num_j_(num_j),
          num_lanes_(num_lanes),
          next_j_(usize(num_i * num_lanes)),
          next_i_(usize(num_j * num_lanes)) {
        std::int64_t count = 0;
        for (std::int64_t wave = 0; wave < num_i + num_j - 1; ++wave) {
            wave_starts_.push_back(count);
            count += std::min({wave + 1, num_i, num_j, num_i + num_j - 1 - wave});
        }
        num_blocks_ = count;
    }

    // fn(i, j, lane, worker) for each block with active(i, j).
    template <typename Active, typename Fn>
    void run(Workers& workers, const Active& active, const Fn& fn) {
        mark(active);
        // Items are claimed in their order, by waves of equal i + j: what one waits for has been
        // claimed before it, so the first that is not done never waits.
        workers.for_items(num_blocks_ * num_lanes_, [&](std::int64_t item, int worker) {
            const Block block = block_at(item / num_lanes_);
            if (!is_active(block)) return;
            const Turn turn(*this, block, item % num_lanes_);
            fn(block.i, block.j, item % num_lanes_, worker);
        });
    }

private:
    using Progress = std::vector<std::atomic<std::int64_t>>;
    struct Block {
        std::int64_t i = 0, j = 0;
    };

    Block block_at(std::int64_t index) const {
        const auto after = std::upper_bound(wave_starts_.begin(), wave_starts_.end(), index);
        const std::int64_t wave = after - wave_starts_.begin() - 1;
        const std::int64_t first_i = std::max<std::int64_t>(0, wave - num_j_ + 1);
        const std::int64_t i = first_i + index - wave_starts_[usize(wave)];
        return {i, wave - i};
    }

    // Waits until it is a block's turn; ends it, also when the block throws.
    class Turn {
    public:
        Turn(BlockGrid& grid, const Block& block, std::int64_t lane)
            : grid_(grid),
              block_(block),
              next_j_(grid.next_j_[grid.at(block.i, lane)]),
              next_i_(grid.next_i_[grid.at(block.j, lane)]) {
            while (next_j_ != block.j || next_i_ != block.i)
                std::this_thread::yield();
        }
        ~Turn() {
            next_j_ = grid_.active_in_row({block_.i, block_.j + 1});
            next_i_ = grid_.active_in_column({block_.i + 1, block_.j});
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        const BlockGrid& grid_;
        Block block_;
        std::atomic<std::int64_t>&next_j_, &next_i_;
    };

    template <typename Active>
    void mark(const Active& active) {
        active_.reserve(usize(num_i_ * num_j_));
        for (std::int64_t i = 0; i < num_i_; ++i) {
            for (std::int64_t j = 0; j < num_j_; ++j)
                active_.push_back(active(i, j));
        }
        for (std::int64_t lane = 0; lane < num_lanes_; ++lane) {
            for (std::int64_t i = 0; i < num_i_; ++i)
                next_j_[at(i, lane)] = active_in_row({i, 0});
            for (std::int64_t j = 0; j < num_j_; ++j)
                next_i_[at(j, lane)] = active_in_column({0, j});
        }
    }
    bool is_active(const Block& block) const { return active_[usize(block.i * num_j_ + block.j)]; }
    // The j, or i, of the first active block from this one on; the end where there is none.
    std::int64_t active_in_row(Block block) const {
        while (block.j < num_j_ && !is_active(block))
            ++block.j;
        return block.j;
    }
    std::int64_t active_in_column(Block block) const {
        while (block.i < num_i_ && !is_active(block))
            ++block.i;
        return block.i;
    }
    std::size_t at(std::int64_t line, std::int64_t lane) const {
        return usize(line * num_lanes_ + lane);
    }

    std::int64_t num_i_ = 0, num_j_ = 0, num_lanes_ = 0, num_blocks_ = 0;
    std::vector<std::int64_t> wave_starts_;
    std::vector<bool> active_;
    Progress next_j_, next_i_;  // the first active block of a row, or column, that has not run
};

}  // namespace rm::cpu
