#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

// The words for an enum's values in files, messages and columns, in the order in which errors list
// them. `what` names the enum in errors.
template <typename E, std::size_t N>
struct Vocabulary {
    std::string_view what;
    std::array<std::pair<E, std::string_view>, N> words;
};
template <typename E, std::size_t N>
constexpr Vocabulary<E, N> vocabulary(std::string_view what,
                                      const std::pair<E, std::string_view> (&words)[N]) {
    return {what, std::to_array(words)};
}

// An enum that has words declares vocabulary_of(E) beside itself.
template <typename E>
concept Worded = requires(E value) {
    vocabulary_of(value).words;
};

template <Worded E>
constexpr std::string_view to_string(const E& value) {
    const auto vocabulary = vocabulary_of(value);
    for (const auto& known : vocabulary.words)
        if (known.first == value) return known.second;
    return "?";
}

// The value whose word is `text`; the error lists all words: a, b or c.
template <Worded E>
Result<E> parse_word(std::string_view text) {
    const auto vocabulary = vocabulary_of(E());
    std::string words;
    for (const auto& known : vocabulary.words) {
        if (known.second == text) return known.first;
        const bool last = &known == &vocabulary.words.back();
        words += format("{}{}", words.empty() ? "" : last ? " or " : ", ", known.second);
    }
    return invalid_argument("{} '{}' is not known; {}", vocabulary.what, text, words);
}

// On an error the target stays as it is.
template <Worded E>
Status parse_name(std::string_view text, E& target) {
    RM_TRY(target, parse_word<E>(text));
    return {};
}

template <typename T>
concept Named = requires(T value) {
    parse_name(std::string_view(), value);
};

// Letters to insert, remove, replace or swap with their neighbour to turn one into the other
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` probably means: the nearest, the first among ties, if at most every
// third letter of the word differs (one letter of a word of three).
std::optional<std::string_view> likely_word(std::string_view word,
                                            std::span<const std::string_view> candidates);

}  // namespace rm
