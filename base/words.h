#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rm {

// "document" for 1; "documents" for 0 and 2.
std::string plural(std::integral auto count, std::string_view noun) {
    return std::string(noun) + (count == 1 ? "" : "s");
}

// 1 rank, 4 ranks.
std::string counted(std::integral auto count, std::string_view noun) {
    return format("{} {}", count, plural(count, noun));
}

// The element of `words` whose to_string() is `text`; the error lists them all: a, b or c.
template <typename E>
Result<E> parse_word(std::string_view what, std::string_view text, std::initializer_list<E> words) {
    std::string known;
    for (const E& word : words) {
        if (to_string(word) == text) return word;
        const bool last = &word == words.end() - 1;
        known += format("{}{}", known.empty() ? "" : last ? " or " : ", ", to_string(word));
    }
    return invalid_argument("{} '{}' is not known; {}", what, text, known);
}

// Letters to insert, remove, replace or swap with their neighbour to turn one into the other
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` probably means: the nearest, the first among ties, if at most every
// third letter of the word differs (one letter of a word of three).
std::optional<std::string_view> likely_word(std::string_view word,
                                            std::span<const std::string_view> candidates);

}  // namespace rm
