#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/memory/arena_trace.h"

namespace rm {

// A trace with the names its file gives: docs/formats/arena_trace.md.
struct NamedTrace {
    std::vector<std::string> ids;
    ArenaTrace trace;
};

// `name` is what errors call the text; they have its line and column.
Result<NamedTrace> parse_arena_csv(std::string_view name, std::string_view text);

// Writes the form that parse_arena_csv reads; with a plan the column `offset` follows.
std::string write_arena_csv(const NamedTrace& named, const std::optional<ArenaPlan>& plan = {});

}  // namespace rm
