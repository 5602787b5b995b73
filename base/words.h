#pragma once

#include <concepts>
#include <initializer_list>
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

}  // namespace rm
