#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace rm {

// Letters to insert, remove, replace or swap with their neighbour to turn one into the other
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` probably means: the nearest, the first among ties, if at most every
// third letter of the word differs (one letter of a word of three).
std::optional<std::string_view> likely_word(std::string_view word,
                                            std::span<const std::string_view> candidates);

}  // namespace rm
