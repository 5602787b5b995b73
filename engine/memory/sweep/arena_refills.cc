#include "engine/memory/sweep/arena_refills.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/result.h"
#include "base/units.h"

namespace rm {
namespace {

using Items = ArenaItems;
using Refills = std::vector<Refill>;

constexpr std::size_t kMaxChoices = 24;
constexpr std::size_t kMaxExact = 512;
constexpr int kMaxCalls = 200;
// The search compares sets of more than two items only where there are few, and pairs up to here.
constexpr std::size_t kFewItems = 8;
constexpr std::size_t kManyItems = 64;
constexpr std::size_t kNearest = 12;

// Evidence, as natural logarithms.
constexpr double kSure = 4;          // enough to come before a single run
constexpr double kExactWithOld = 3;  // a run with old holes leaves nothing
constexpr double kInexact = -2;      // a run leaves a new hole
constexpr double kOldHole = -1;      // the run takes an old hole, each
constexpr double kAlone = -4;        // a block takes any hole that is large enough

std::size_t at(int index) {
    return usize(index);
}

bool contains_all(const Items& items, const Items& some) {
    return std::all_of(some.begin(), some.end(), [&](int item) { return contains(items, item); });
}

// The number of sets of k out of n.
double num_sets(std::size_t n, std::size_t k) {
    double product = 1;
    for (std::size_t i = 0; i < k; ++i)
        product *= static_cast<double>(n - i) / static_cast<double>(i + 1);
    return product;
}

void append_sets(const Items& items, std::size_t most, std::size_t next, const Items& set,
                 std::vector<Items>& sets) {
    for (std::size_t i = next; i < items.size(); ++i) {
        sets.push_back(set);
        sets.back().push_back(items[i]);
        if (set.size() + 1 < most) append_sets(items, most, i + 1, Items(sets.back()), sets);
    }
}

// The sets of one to `most` items, small ones first.
std::vector<Items> sets_of(const Items& items, std::size_t most) {
    std::vector<Items> sets;
    append_sets(items, most, 0, {}, sets);
    std::stable_sort(sets.begin(), sets.end(),
                     [](const Items& a, const Items& b) { return a.size() < b.size(); });
    return sets;
}

std::size_t set_limit(const Items& items, std::size_t of_few) {
    return items.size() <= kFewItems ? of_few : items.size() <= kManyItems ? 2 : 1;
}

class Lister {
public:
    explicit Lister(ArenaMoment moment) : m_(std::move(moment)) {
        std::stable_sort(m_.blocks.begin(), m_.blocks.end(),
                         [this](int a, int b) { return m_.sizes[at(a)] > m_.sizes[at(b)]; });
    }

    std::vector<Refills> list() {
        collect_rooms();
        find_exact();
        choose({}, m_.blocks, m_.fresh, m_.old);
        return std::move(choices_);
    }

private:
    struct Room {
        Items holes;
        double num_like;  // rooms of its kind
    };
    struct Exact {
        Refill refill;
        bool is_sure;
    };

    std::int64_t bytes(const Items& items) const {
        std::int64_t sum = 0;
        for (const int item : items)
            sum += m_.sizes[at(item)];
        return sum;
    }
    bool has_old(const Items& room) const { return contains(m_.old, room.back()); }
    bool is_full() const { return choices_.size() >= kMaxChoices || num_calls_ >= kMaxCalls; }

    void collect_rooms() {
        for (Items& room : sets_of(m_.fresh, set_limit(m_.fresh, 4))) {
            const std::int64_t size = bytes(room);
            const double num_like = num_sets(m_.fresh.size(), room.size());
            rooms_.emplace(size, Room{std::move(room), num_like});
        }
        const auto num_old = static_cast<double>(m_.old.size());
        for (const int hole : m_.old) {
            rooms_.emplace(m_.sizes[at(hole)], Room{{hole}, num_old});
            if (m_.old.size() > kManyItems || m_.fresh.size() > kManyItems) continue;
            for (const int other : m_.fresh) {
                rooms_.emplace(m_.sizes[at(hole)] + m_.sizes[at(other)],
                               Room{{other, hole}, num_old * static_cast<double>(m_.fresh.size())});
            }
        }
        for (const Items& family : m_.families)
            rooms_.emplace(bytes(family), Room{family, static_cast<double>(m_.families.size())});
    }

    // The refills that leave nothing. The more sets there are to compare, the less it means that
    // the sizes of two agree.
    void find_exact() {
        for (const Items& blocks : sets_of(m_.blocks, set_limit(m_.blocks, kFewItems))) {
            const auto [first, end] = rooms_.equal_range(bytes(blocks));
            for (auto room = first; room != end && exact_.size() < kMaxExact; ++room) {
                const auto& [holes, num_like] = room->second;
                if (blocks.size() == m_.blocks.size() && !has_old(holes)) continue;  // a single run
                const double chance = num_like * num_sets(m_.blocks.size(), blocks.size()) *
                                      static_cast<double>(m_.unit) /
                                      static_cast<double>(room->first);
                const double evidence = -std::log(chance);
                const bool is_pair = holes.size() + blocks.size() == 2;
                exact_.push_back({{holes, blocks, evidence}, is_pair || evidence > kSure});
            }
        }
        std::stable_sort(exact_.begin(), exact_.end(), [](const Exact& a, const Exact& b) {
            return a.refill.evidence > b.refill.evidence;
        });
    }

    // Completes `chosen` for the blocks that are left, in the holes that are left.
    void choose(const Refills& chosen, const Items& blocks, const Items& fresh, const Items& old) {
        if (is_full()) return;
        ++num_calls_;
        if (blocks.empty()) {
            choices_.push_back(chosen);
            return;
        }
        choose_exact(chosen, blocks, fresh, old, true);
        choose_one_run(chosen, blocks, fresh, old);
        choose_exact(chosen, blocks, fresh, old, false);
        choose_alone(chosen, blocks, fresh, old);
    }

    void go_on(Refills chosen, const Refill& refill, const Items& blocks, const Items& fresh,
               const Items& old) {
        chosen.push_back(refill);
        choose(chosen, without(blocks, refill.blocks), without(fresh, refill.room),
               without(old, refill.room));
    }

    // The largest block, in a refill that leaves nothing.
    void choose_exact(const Refills& chosen, const Items& blocks, const Items& fresh,
                      const Items& old, bool sure) {
        const Items holes = both(fresh, old);
        for (const auto& [refill, is_sure] : exact_) {
            if (is_full()) return;
            if (is_sure == sure && contains(refill.blocks, blocks.front()) &&
                contains_all(blocks, refill.blocks) && contains_all(holes, refill.room)) {
                go_on(chosen, refill, blocks, fresh, old);
            }
        }
    }

    // All blocks side by side in all fresh holes and some old ones.
    void choose_one_run(const Refills& chosen, const Items& blocks, const Items& fresh,
                        const Items& old) {
        const auto first_old = [&](std::size_t count) {
            Items some = old;
            some.resize(std::min(count, old.size()));
            return some;
        };
        const std::int64_t need = bytes(blocks) - bytes(fresh);
        if (need == 0) offer_run(chosen, fresh, blocks);
        const std::vector<Items> nearest = sets_of(first_old(kNearest), 2);
        for (const Items& holes : nearest) {
            if (need > 0 && bytes(holes) == need) offer_run(chosen, both(fresh, holes), blocks);
        }
        if (m_.num_within > 0) offer_run(chosen, both(fresh, first_old(m_.num_within)), blocks);
        offer_run(chosen, fresh, blocks);
        for (const Items& holes : nearest)
            offer_run(chosen, both(fresh, holes), blocks);
        offer_run(chosen, both(fresh, old), blocks);
    }

    void offer_run(const Refills& chosen, const Items& room, const Items& blocks) {
        const std::int64_t left = bytes(room) - bytes(blocks);
        if (is_full() || room.empty() || left < 0) return;
        const std::size_t num_old = room.size() - without(room, m_.old).size();
        const double exact = num_old > 0 ? kExactWithOld : 0;
        Refills choice = chosen;
        choice.push_back(
            {room, blocks, left == 0 ? exact : kInexact + kOldHole * static_cast<double>(num_old)});
        if (std::find(choices_.begin(), choices_.end(), choice) == choices_.end())
            choices_.push_back(std::move(choice));
    }

    // The largest block, in one hole.
    void choose_alone(const Refills& chosen, const Items& blocks, const Items& fresh,
                      const Items& old) {
        Items holes = both(fresh, old);
        std::stable_sort(holes.begin(), holes.end(),
                         [this](int a, int b) { return m_.sizes[at(a)] < m_.sizes[at(b)]; });
        for (const int hole : holes) {
            if (is_full()) return;
            if (m_.sizes[at(hole)] < m_.sizes[at(blocks.front())]) continue;
            go_on(chosen, {{hole}, {blocks.front()}, kAlone}, blocks, fresh, old);
        }
    }

    ArenaMoment m_;
    std::multimap<std::int64_t, Room> rooms_;  // by their bytes
    std::vector<Exact> exact_;                 // the best evidence first
    std::vector<Refills> choices_;
    int num_calls_ = 0;  // of choose()
};

}  // namespace

std::vector<std::vector<Refill>> list_refills(ArenaMoment moment) {
    return Lister(std::move(moment)).list();
}

bool contains(const ArenaItems& items, int item) {
    return std::find(items.begin(), items.end(), item) != items.end();
}

ArenaItems without(const ArenaItems& items, const ArenaItems& others) {
    ArenaItems rest;
    std::copy_if(items.begin(), items.end(), std::back_inserter(rest),
                 [&](int item) { return !contains(others, item); });
    return rest;
}

ArenaItems both(ArenaItems items, const ArenaItems& others) {
    items.insert(items.end(), others.begin(), others.end());
    return items;
}

}  // namespace rm
