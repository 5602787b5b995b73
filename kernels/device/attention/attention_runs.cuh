#pragma once

#include "kernels/device/run_list.h"
#include "kernels/simt/simt.h"

// Masks are runs (base/layout.h): a query sees a key of its own document at or before its position.
// Every tile lies within one run and is counted from the run's start. So a tile has one document
// and consecutive positions, what a row sees of a tile of keys is one number, and a call that is
// cut at multiples of a tile from the start of its runs computes the same tiles.
namespace rm::device {

constexpr float kLog2E = 1.4426950408889634f;

struct RunTile {
    int token;  // of the first, in local order
    int count;
    int position;  // of the first
    int document;
    int see_begin, see_end;  // runs of the other side
};

// Tile `index` of all tiles of kRows rows.
template <int kRows>
SIMT_FN RunTile tile_at(const RunList& list, int index) {
    int run = 0;
    for (int end = list.count; end - run > 1;) {
        const int middle = (run + end) / 2;
        (list.runs[middle].first_tile <= index ? run : end) = middle;
    }
    const TokenRun& found = list.runs[run];
    const int at = (index - found.first_tile) * kRows;
    return {found.token + at, found.length - at < kRows ? found.length - at : kRows,
            found.first + at, found.document,
            found.see_begin,  found.see_end};
}

// How many keys, counted from the first of the tile, the query at `position` sees: one more for
// every later position. At most 0: none; at least keys.count: all.
SIMT_FN int keys_seen(int position, const RunTile& keys) {
    const int seen = position - keys.position + 1;
    return seen < keys.count ? seen : keys.count;
}

// Both walks borrow what they are given, and look at it only where a run ends: block-uniform
// numbers in registers are what the loops around them have none to spare for.

// The tiles of kStep keys of which a tile of queries sees something, in local order.
template <int kStep>
class KeyWalk {
public:
    SIMT_FN KeyWalk(const RunList& list, const RunTile& queries)
        : list_(list), queries_(queries), run_(queries.see_begin - 1) {}

    SIMT_FN bool next(RunTile& keys) {
        if (!next()) return false;
        keys = present();
        return true;
    }
    SIMT_FN bool next() {
        at_ += kStep;
        while (at_ >= seen_) {
            if (++run_ >= queries_.see_end) return false;
            const TokenRun& run = list_.runs[run_];
            const int seen = keys_seen(queries_.position + queries_.count - 1,
                                       {run.token, run.length, run.first, run.document, 0, 0});
            seen_ = run.document == queries_.document ? seen : 0;
            at_ = 0;
        }
        return true;
    }
    SIMT_FN RunTile present() const {
        const TokenRun& run = list_.runs[run_];
        return {run.token + at_,
                run.length - at_ < kStep ? run.length - at_ : kStep,
                run.first + at_,
                run.document,
                0,
                0};
    }
    // The number of the present tile among all of the list.
    SIMT_FN int tile() const { return list_.runs[run_].first_tile + at_ / kStep; }

private:
    const RunList& list_;
    const RunTile& queries_;
    int run_;
    int at_ = 0;    // first key of the present tile, from the run's start
    int seen_ = 0;  // keys of the present run that the last query sees
};

// The tiles of kStep queries that see something of a tile of keys, in local order, each once per
// query head of the group: heads innermost, so that cutting the queries keeps the order of sums.
template <int kStep>
class QueryWalk {
public:
    SIMT_FN QueryWalk(const RunList& list, const RunTile& keys, const int& group)
        : list_(list), keys_(keys), group_(group), run_(keys.see_begin - 1), head_(group - 1) {}

    SIMT_FN bool next(RunTile& queries, int& head) {
        if (++head_ == group_) {
            head_ = 0;
            if (!next_tile()) return false;
        }
        const TokenRun& run = list_.runs[run_];
        queries = {run.token + at_,
                   run.length - at_ < kStep ? run.length - at_ : kStep,
                   run.first + at_,
                   run.document,
                   0,
                   0};
        head = head_;
        return true;
    }

private:
    SIMT_FN bool next_tile() {
        at_ += kStep;
        while (at_ >= length_) {
            if (++run_ >= keys_.see_end) return false;
            const TokenRun& run = list_.runs[run_];
            const int blind = keys_.position - run.first;  // queries before the first key
            length_ = run.document == keys_.document ? run.length : 0;
            at_ = blind > 0 ? blind / kStep * kStep : 0;
        }
        return true;
    }

    const RunList& list_;
    const RunTile& keys_;
    const int& group_;
    int run_;
    int at_ = 0;      // first query of the present tile, from the run's start
    int length_ = 0;  // queries of the present run
    int head_;        // within the group
};

// Which tile and heads a block of queries has. A kv head's blocks are neighbours, so that its keys
// and values stay in the second level of cache; later tiles see more and go first.
struct QueryTask {
    template <typename Params>
    SIMT_FN explicit QueryTask(const Params& p)
        : tile(p.num_tiles - 1 - simt::block_x() / p.group % p.num_tiles),
          kv_head(simt::block_x() / p.group / p.num_tiles),
          head(kv_head * p.group + simt::block_x() % p.group) {}
    int tile;
    int kv_head;
    int head;
};

// The 16 rows of one warp, queries or keys, and what they see or who sees them.
struct WarpRows {
    SIMT_FN explicit WarpRows(const RunTile& rows)
        : first(simt::warp() * 16),
          count(rows.count < first        ? 0
                : rows.count - first < 16 ? rows.count - first
                                          : 16),
          token(rows.token + first),
          position(rows.position + first) {}

    SIMT_FN bool see_any(const RunTile& keys) const {
        return count > 0 && keys_seen(position + count - 1, keys) > 0;
    }
    SIMT_FN bool see_all(const RunTile& keys, int step) const {
        return keys_seen(position, keys) >= step;
    }
    SIMT_FN bool seen_by_any(const RunTile& queries) const {
        return count > 0 && position < queries.position + queries.count;
    }
    SIMT_FN bool seen_by_all(const RunTile& queries) const {
        return count == 16 && position + 15 <= queries.position;
    }
    int first;  // within the tile
    int count;
    int token;
    int position;
};

}  // namespace rm::device
