#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// UTF-8 as the Unicode Standard defines it (chapter 3, table 3-7).
namespace rm {

struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 0;
};

// The first byte at or after `from` that is not part of well-formed UTF-8; text.size() if all is.
std::size_t find_invalid_utf8(std::string_view text, std::size_t from = 0);

// Bytes at the end of `text` that begin a character and do not complete it: more may follow.
std::size_t incomplete_utf8_bytes(std::string_view text);

// Replaces each maximal subpart of an ill-formed sequence by U+FFFD, as Rust's from_utf8_lossy and
// Python's errors="replace" do.
std::string replace_invalid_utf8(std::string_view text);

// `text` is well-formed and does not end at `at`, respectively begin at `end`.
CodePoint code_point_at(std::string_view text, std::size_t at);
CodePoint code_point_before(std::string_view text, std::size_t end);

void append_utf8(std::string& out, char32_t code_point);

// The property White_Space: what `\s` means to the regular expressions of tokenizers.
bool is_white_space(char32_t code_point);

// The alphabet in which byte-level vocabularies spell bytes (GPT-2's bytes_to_unicode): printable
// Latin-1 stands for itself, the other 68 bytes for U+0100 and what follows, in order. A space is
// U+0120.

// `bytes`, spelled.
std::string spell_bytes(std::string_view bytes);

// The bytes that `spelled` (well-formed UTF-8) spells; nothing when a character is not of the
// alphabet.
std::optional<std::string> unspell_bytes(std::string_view spelled);

}  // namespace rm
