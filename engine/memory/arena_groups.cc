#include <algorithm>
#include <array>
#include <map>

#include "engine/memory/arena_planner.h"

namespace rm {
namespace {

struct Group {
    std::vector<std::size_t> members;
    std::vector<ArenaBlock> blocks;
    std::int64_t lower = kMaxArenaTime;
    std::int64_t upper = -kMaxArenaTime;

    void add(std::size_t index, const ArenaBlock& block) {
        members.push_back(index);
        blocks.push_back(block);
        lower = std::min(lower, block.lower);
        upper = std::max(upper, block.upper);
    }
};

// Times relative to the group's begin, and sizes: equal for repeated layers.
using Shape = std::vector<std::array<std::int64_t, 3>>;

Shape shape_of(const Group& group) {
    Shape shape;
    for (const ArenaBlock& block : group.blocks)
        shape.push_back({block.lower - group.lower, block.upper - group.lower, block.size.value});
    return shape;
}

ArenaPlan plan_blocks(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                      const ArenaWork& work) {
    ArenaOutcome best = stacked_outcome(blocks);
    ArenaGoal own = goal;
    own.enough = std::max(goal.enough, best.bound);
    work.improve(blocks, own, best);
    return std::move(best.plan);
}

std::map<int, Group> collect(const ArenaTrace& trace) {
    std::map<int, Group> groups;
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
        if (trace.groups[i] != kNoGroup) groups[trace.groups[i]].add(i, trace.blocks[i]);
    }
    return groups;
}

// The step as single blocks: one per group, and the blocks without a group.
struct Outer {
    std::vector<ArenaBlock> blocks;
    // For each block: the members that it represents, and their offsets in it.
    std::vector<std::vector<std::size_t>> members;
    std::vector<std::vector<Bytes>> offsets;

    void add(const ArenaBlock& block, std::vector<std::size_t> stands_for,
             std::vector<Bytes> inner) {
        blocks.push_back(block);
        members.push_back(std::move(stands_for));
        offsets.push_back(std::move(inner));
    }
};

Outer make_outer(const ArenaTrace& trace, const ArenaWork& work) {
    Outer outer;
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
        if (trace.groups[i] == kNoGroup) outer.add(trace.blocks[i], {i}, {Bytes{0}});
    }
    std::map<Shape, ArenaPlan> solved;
    for (auto& [id, group] : collect(trace)) {
        const auto [entry, is_new] = solved.try_emplace(shape_of(group));
        ArenaPlan& plan = entry->second;
        if (is_new) plan = plan_blocks(group.blocks, {}, work);
        outer.add({group.lower, group.upper, plan.peak}, std::move(group.members), plan.offsets);
    }
    return outer;
}

}  // namespace

ArenaPlan plan_grouped(const ArenaTrace& trace, const ArenaGoal& goal, const ArenaWork& work) {
    const Outer outer = make_outer(trace, work);
    // Bounds of blocks that represent groups do not hold for the trace, so they prove nothing.
    const ArenaPlan placed = plan_blocks(outer.blocks, {goal.enough, {}}, work);
    ArenaPlan plan{std::vector<Bytes>(trace.blocks.size()), placed.peak};
    for (std::size_t b = 0; b < outer.blocks.size(); ++b) {
        for (std::size_t k = 0; k < outer.members[b].size(); ++k)
            plan.offsets[outer.members[b][k]] = placed.offsets[b] + outer.offsets[b][k];
    }
    return plan;
}

}  // namespace rm
