#include <algorithm>
#include <array>
#include <optional>

#include "base/random.h"
#include "engine/memory/arena_search.h"
#include "engine/memory/arena_solver.h"

namespace rm {
namespace {

// Leaves larger traces to other solvers: the lists below would be long.
constexpr std::int64_t kMaxPairs = std::int64_t{1} << 22;
constexpr std::int64_t kMaxSectionEntries = std::int64_t{1} << 21;
// The most entries of sections that one plan examines.
constexpr std::int64_t kMaxLooks = std::int64_t{1} << 22;

// Traces of a few hundred blocks of similar sizes need several attempts.
constexpr int kShuffles = 32;

using enum SearchKey;
constexpr std::array<SearchKeys, 3> kOrders = {{
    {lifetime, total, area},
    {total, lifetime, area},
    {total, area, lifetime},
}};

std::size_t at(int index) {
    return usize(index);
}

// The number of pairs of blocks that live together.
std::int64_t count_pairs(std::span<const ArenaBlock> blocks) {
    std::vector<std::int64_t> lowers;
    for (const ArenaBlock& block : blocks)
        lowers.push_back(block.lower);
    std::sort(lowers.begin(), lowers.end());
    std::int64_t pairs = 0;
    for (const ArenaBlock& block : blocks) {
        // Blocks that begin during the rest of its lifetime.
        const auto after = std::upper_bound(lowers.begin(), lowers.end(), block.lower);
        pairs += std::lower_bound(after, lowers.end(), block.upper) - after;
    }
    return pairs;
}

// The positions of blocks: each has a floor, the top of the blocks placed below it.
struct Levels {
    explicit Levels(std::size_t num_blocks) : floors(num_blocks), placed(num_blocks) {}
    std::vector<std::int64_t> floors;  // of a placed block: its offset
    std::vector<char> placed;
};

// Tests, section by section, whether the blocks to come can still lie within a target:
// ArenaSearch's test, near the current block only.
class Lookahead {
public:
    Lookahead(const SearchProblem& problem, std::int64_t target)
        : problem_(problem), target_(target), members_(at(problem.sections.num_sections)) {
        for (int b = 0; b < problem.num_blocks; ++b) {
            for (int s = problem.sections.first[at(b)]; s < problem.sections.end[at(b)]; ++s)
                members_[at(s)].push_back(b);
        }
    }

    // Tests with `block` at its floor, the lowest of all blocks to come.
    bool fits(int block, const Levels& levels) {
        int first = problem_.sections.first[at(block)], end = problem_.sections.end[at(block)];
        for (const int other : problem_.neighbours[at(block)]) {
            if (levels.placed[at(other)]) continue;
            first = std::min(first, problem_.sections.first[at(other)]);
            end = std::max(end, problem_.sections.end[at(other)]);
        }
        for (int s = first; s < end; ++s) {
            if (!fits_section(s, block, levels)) return false;
        }
        return true;
    }

private:
    struct Entry {
        std::int64_t low;
        std::int64_t size;
    };

    bool fits_section(int section, int block, const Levels& levels) {
        if (num_looks_ > kMaxLooks) return true;
        num_looks_ += static_cast<std::int64_t>(members_[at(section)].size());
        collect(section, block, levels);
        std::int64_t all = 0, highest = 0;
        for (const Entry& entry : entries_) {
            all += entry.size;
            highest = std::max(highest, entry.low);
        }
        if (highest + all <= target_) return true;
        std::sort(entries_.begin(), entries_.end(),
                  [](const Entry& a, const Entry& b) { return a.low > b.low; });
        std::int64_t above = 0;
        for (const Entry& entry : entries_) {
            above += entry.size;
            if (entry.low + above > target_) return false;
        }
        return true;
    }

    void collect(int section, int block, const Levels& levels) {
        const std::int64_t floor = levels.floors[at(block)];
        const std::int64_t top = floor + problem_.sizes[at(block)];
        entries_.clear();
        for (const int b : members_[at(section)]) {
            if (levels.placed[at(b)] || b == block) continue;
            const std::int64_t least = lives_with(b, block) ? top : floor;
            entries_.push_back({std::max(levels.floors[at(b)], least), problem_.sizes[at(b)]});
        }
    }

    bool lives_with(int a, int b) const {
        const ArenaSections& s = problem_.sections;
        return s.first[at(a)] < s.end[at(b)] && s.first[at(b)] < s.end[at(a)];
    }

    const SearchProblem& problem_;
    const std::int64_t target_;
    std::vector<std::vector<int>> members_;  // of each section
    std::vector<Entry> entries_;             // scratch
    std::int64_t num_looks_ = 0;
};

struct Candidate {
    std::int64_t floor;
    int rank;
    int block;
    bool operator<(const Candidate& other) const {
        return floor != other.floor ? floor < other.floor : rank < other.rank;
    }
};

// The lowest candidate first. Most rise before their turn: `sink` is a pop and a push in one.
class Queue {
public:
    bool empty() const { return heap_.empty(); }
    const Candidate& lowest() const { return heap_.front(); }

    void push(const Candidate& candidate) {
        heap_.push_back(candidate);
        std::push_heap(heap_.begin(), heap_.end(), is_after);
    }
    void pop() {
        std::pop_heap(heap_.begin(), heap_.end(), is_after);
        heap_.pop_back();
    }
    void sink(std::int64_t floor) {
        Candidate lifted = heap_.front();
        lifted.floor = floor;
        std::size_t hole = 0;
        for (std::size_t child = 1; child < heap_.size(); child = 2 * hole + 1) {
            if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
            if (lifted < heap_[child]) break;
            heap_[hole] = heap_[child];
            hole = child;
        }
        heap_[hole] = lifted;
    }

private:
    static bool is_after(const Candidate& a, const Candidate& b) { return b < a; }
    std::vector<Candidate> heap_;
};

// Builds from the ground up: always places the block with the lowest floor on it. A block that
// would leave no room for others waits until another block lifts it.
class Skyline {
public:
    Skyline(const SearchProblem& problem, const std::vector<int>& rank, Lookahead* lookahead)
        : problem_(problem),
          rank_(rank),
          lookahead_(lookahead),
          levels_(at(problem.num_blocks)),
          queued_(at(problem.num_blocks)) {}

    // Nothing if a block waits for ever.
    std::optional<std::vector<std::int64_t>> build() {
        for (int block = 0; block < problem_.num_blocks; ++block)
            push(block);
        int num_placed = 0;
        while (!queue_.empty()) {
            const Candidate next = queue_.lowest();
            const std::int64_t floor = levels_.floors[at(next.block)];
            if (next.floor < floor) {
                queue_.sink(floor);
                continue;
            }
            queue_.pop();
            queued_[at(next.block)] = 0;
            if (lookahead_ != nullptr && !lookahead_->fits(next.block, levels_)) continue;
            place(next.block);
            ++num_placed;
        }
        if (num_placed < problem_.num_blocks) return std::nullopt;
        return std::move(levels_.floors);
    }

private:
    void push(int block) {
        queue_.push({levels_.floors[at(block)], rank_[at(block)], block});
        queued_[at(block)] = 1;
    }

    void place(int block) {
        levels_.placed[at(block)] = 1;
        const std::int64_t top = levels_.floors[at(block)] + problem_.sizes[at(block)];
        for (const int other : problem_.neighbours[at(block)]) {
            if (levels_.placed[at(other)] || levels_.floors[at(other)] >= top) continue;
            levels_.floors[at(other)] = top;
            if (!queued_[at(other)]) push(other);
        }
    }

    const SearchProblem& problem_;
    const std::vector<int>& rank_;
    Lookahead* lookahead_;  // null: places blocks without a test
    Levels levels_;
    // One entry per block, none for waiting ones; the floor of a block that rose is out of date.
    Queue queue_;
    std::vector<char> queued_;
};

std::int64_t num_section_entries(const SearchProblem& problem) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < at(problem.num_blocks); ++i)
        count += problem.sections.end[i] - problem.sections.first[i];
    return count;
}

// The same order, each block moved back by up to an eighth of the blocks.
std::vector<int> shuffled(const std::vector<int>& rank, Rng& rng) {
    const std::uint64_t most = rank.size() / 8 + 1;
    std::vector<std::pair<std::int64_t, int>> moved;
    for (int block = 0; block < static_cast<int>(rank.size()); ++block)
        moved.emplace_back(rank[at(block)] + static_cast<std::int64_t>(rng.below(most)), block);
    std::sort(moved.begin(), moved.end());
    std::vector<int> result(rank.size());
    for (int place = 0; place < static_cast<int>(moved.size()); ++place)
        result[at(moved[at(place)].second)] = place;
    return result;
}

class SkylineSolver final : public ArenaSolver {
public:
    void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                 const ArenaLimits& limits, ArenaOutcome& best) const override {
        if (count_pairs(blocks) > kMaxPairs) return;
        const SearchProblem problem(blocks);
        std::vector<std::vector<int>> ranks;
        for (const auto& keys : kOrders) {
            ranks.push_back(rank_blocks(problem, keys));
            take(Skyline(problem, ranks.back(), nullptr).build(), blocks, best);
            if (goal.is_reached(best) || limits.reached()) return;
        }
        if (num_section_entries(problem) > kMaxSectionEntries) return;
        const std::vector<int> by_total = ranks[1];
        Rng rng(1);
        for (int i = 0; i < kShuffles; ++i)
            ranks.push_back(shuffled(by_total, rng));
        for (const std::vector<int>& rank : ranks) {
            Lookahead lookahead(problem, goal.enough.value);
            take(Skyline(problem, rank, &lookahead).build(), blocks, best);
            if (goal.is_reached(best) || limits.reached()) return;
        }
    }

private:
    using Offsets = std::optional<std::vector<std::int64_t>>;
    static void take(const Offsets& offsets, std::span<const ArenaBlock> blocks,
                     ArenaOutcome& best) {
        if (offsets) best.offer(blocks, *offsets);
    }
};

}  // namespace

std::unique_ptr<ArenaSolver> make_skyline_solver() {
    return std::make_unique<SkylineSolver>();
}

}  // namespace rm
