#pragma once

#include <optional>
#include <string>
#include <string_view>

// The alphabet in which byte-level vocabularies spell bytes (GPT-2's bytes_to_unicode): printable
// Latin-1 stands for itself, the other 68 bytes for U+0100 and what follows, in order. A space is
// U+0120.
namespace rm {

// `bytes`, spelled.
std::string spell_bytes(std::string_view bytes);

// The bytes that `spelled` (well-formed UTF-8) spells; nothing when a character is not of the
// alphabet.
std::optional<std::string> unspell_bytes(std::string_view spelled);

}  // namespace rm
