#pragma once

#include <optional>
#include <string_view>

#include "base/job_spec.h"

// Enums written as words in files, messages and columns: to_string() and parse_name(). On an error,
// which lists the valid words, parse_name() leaves its target alone.
namespace rm {

template <typename E>
Status take_name(const Result<E>& parsed, E& target) {
    if (!parsed) return parsed.error();
    target = *parsed;
    return {};
}
inline Status parse_name(std::string_view text, Schedule& schedule) {
    return take_name(parse_schedule(text), schedule);
}
inline Status parse_name(std::string_view text, Documents& documents) {
    return take_name(parse_documents(text), documents);
}
inline Status parse_name(std::string_view text, Positions& positions) {
    return take_name(parse_positions(text), positions);
}
inline Status parse_name(std::string_view text, OptimizerPlace& place) {
    return take_name(parse_optimizer_place(text), place);
}
inline Status parse_name(std::string_view text, std::optional<Keep>& keep) {
    return take_name(parse_keep_or_auto(text), keep);
}
inline Status parse_name(std::string_view text, Keep& keep) {
    return take_name(parse_keep(text), keep);
}
inline Status parse_name(std::string_view text, KeptPlace& place) {
    return take_name(parse_kept_place(text), place);
}
inline Status parse_name(std::string_view text, WorkingSet& working) {
    return take_name(parse_working_set(text), working);
}
inline Status parse_name(std::string_view text, ArenaReuse& reuse) {
    return take_name(parse_arena_reuse(text), reuse);
}
inline Status parse_name(std::string_view text, Switch& state) {
    return take_name(parse_switch(text), state);
}

template <typename T>
concept Named = requires(T value) {
    parse_name(std::string_view(), value);
};

}  // namespace rm
