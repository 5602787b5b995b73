#pragma once

#include <array>
#include <functional>
#include <limits>

#include "engine/memory/arena_sections.h"

namespace rm {

// Data that every search over the same blocks shares and none changes.
struct SearchProblem {
    explicit SearchProblem(std::span<const ArenaBlock> blocks);

    int num_blocks = 0;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> lifetimes;
    ArenaSections sections;
    std::vector<std::vector<int>> neighbours;  // of each block: those that live together with it
    std::vector<int> by_time;                  // blocks by their first section
};

// The keys that order blocks of equal offset.
enum class SearchKey { total, lifetime, area, size };  // the largest first, ties by the next key
using SearchKeys = std::array<SearchKey, 3>;
std::vector<int> rank_blocks(const SearchProblem& problem, const SearchKeys& keys);

// Decides whether blocks can be placed within `target` bytes. Exact: facts from M. Moffitt,
// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", 2023.
//
// If a plan exists, one exists in which no block can be moved down. In the order of offset, then
// rank, each of its blocks lies directly on those below that live together with it, or at 0. So the
// search places blocks only in that order, each as low as the blocks below allow, and abandons a
// partial plan when
//   * a block that is still to come could be moved down below this offset (it is dominated),
//   * in some section the blocks still to come, each no lower than it can lie, exceed the target.
// It searches parts that share no moment with the rest separately, in the order of the whole or one
// of their own: the fullest section of the whole may be the emptiest of a part.
class ArenaSearch {
public:
    enum class Verdict { placed, impossible, stopped };

    // The order of the blocks of a part.
    enum class Ranking { kept, anew };

    // `rank` is a permutation, made by these keys. The problem outlives the search.
    ArenaSearch(const SearchProblem& problem, std::vector<int> rank, SearchKeys keys,
                Ranking ranking);

    Verdict run(std::int64_t target, std::int64_t max_nodes,
                const std::function<bool()>& interrupted);

    // Valid after `placed`.
    const std::vector<std::int64_t>& offsets() const { return offsets_; }
    // Valid after `impossible`: no plan has a peak below this, which is above the target.
    std::int64_t least_peak() const { return least_peak_; }

private:
    using Items = std::vector<int>;  // blocks by their first section
    // The last block placed: no block to come precedes it.
    struct Frontier {
        std::int64_t offset;
        int rank;
    };
    struct Lifted {
        int block;
        std::int64_t floor;  // before
    };

    void reset();
    bool place_all(const Items& items, Frontier frontier);
    bool place_parts(std::vector<Items> parts, Frontier frontier);
    bool may_fit(const Items& items, Frontier frontier);
    Frontier rank_again(const Items& part, Frontier frontier);
    bool place_single(int block);
    bool branch(const Items& items, Frontier frontier);
    bool is_out_of_budget();
    std::vector<Items> split(const Items& items) const;
    bool is_past(int block, Frontier frontier) const;
    bool raise_lows(const Items& items, Frontier frontier);
    bool raise_past(const Items& items, Frontier frontier, bool& raised);
    bool sections_fit(const Items& items);
    std::int64_t fullest_section(const Items& items) const;
    bool add_to_sections(int block);
    Items candidates(const Items& items, Frontier frontier) const;
    void place(int block);
    void take_back(const Items& items, std::size_t num_lifted);
    bool exceeds(std::int64_t top);

    const SearchProblem& problem_;
    std::vector<int> rank_;
    const SearchKeys keys_;
    const Ranking ranking_;
    std::int64_t target_ = 0;
    std::int64_t nodes_left_ = 0;
    const std::function<bool()>* interrupted_ = nullptr;
    bool stopped_ = false;
    std::int64_t least_peak_ = 0;
    std::vector<std::int64_t> offsets_;
    std::vector<std::int64_t> floors_;  // the top of what is placed below each block
    std::vector<std::int64_t> lows_;    // of each item of the node: it cannot lie lower
    std::vector<char> to_come_;
    std::vector<std::int64_t> stacked_;  // of each section of the node: what is to come; scratch
    Items by_low_;                       // scratch
    std::vector<Lifted> lifted_;         // floors to restore, in order
};

}  // namespace rm
