#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace rm {

// Levenshtein: letters to insert, remove or replace to make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, the first of equals. There is at least one.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace rm
