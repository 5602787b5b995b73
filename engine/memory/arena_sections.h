#pragma once

#include "engine/memory/arena_trace.h"

// Lifetimes in the form that the solvers use.
namespace rm {

// The blocks, by index, of each part of time that shares no block with another part. Parts are
// ordered by time, blocks within a part by the beginning of their lives.
std::vector<std::vector<int>> split_by_time(std::span<const ArenaBlock> blocks);

// Reduces time to its sections: the moments whose set of live blocks is maximal, that is, contained
// in no other moment's set. Two blocks live together exactly when they share a section, and each
// block's sections are consecutive.
struct ArenaSections {
    int num_sections = 0;
    std::vector<int> first;  // of each block
    std::vector<int> end;    // of each block: one past its last
};
ArenaSections make_sections(std::span<const ArenaBlock> blocks);

}  // namespace rm
