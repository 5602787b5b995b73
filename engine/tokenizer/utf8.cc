#include "engine/tokenizer/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/usize.h"

namespace rm {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Sequence {
    std::size_t bytes = 1;  // that form a valid prefix, at least one
    bool complete = false;
};

std::uint8_t byte_at(std::string_view text, std::size_t at) {
    return static_cast<std::uint8_t>(text[at]);
}

std::size_t length_by_lead(std::uint8_t lead) {
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Limits on the second byte exclude overlong forms, surrogates and code points above U+10FFFF.
bool fits_second(std::uint8_t lead, std::uint8_t second) {
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return second >= low && second <= high;
}

Sequence sequence_at(std::string_view text, std::size_t at) {
    const std::uint8_t lead = byte_at(text, at);
    const std::size_t length = length_by_lead(lead);
    if (length <= 1) return {1, length == 1};
    if (at + 1 == text.size() || !fits_second(lead, byte_at(text, at + 1))) return {1, false};
    for (std::size_t i = 2; i < length; ++i) {
        if (at + i == text.size() || (byte_at(text, at + i) & 0xC0) != 0x80) return {i, false};
    }
    return {length, true};
}

// Skips whole 8-byte words of ASCII from `at` on.
std::size_t skip_ascii(std::string_view text, std::size_t at) {
    while (at + 8 <= text.size()) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, 8);
        if ((word & 0x8080808080808080ULL) != 0) break;
        at += 8;
    }
    return at;
}

constexpr int kNumBytes = 256;
constexpr char32_t kFirstExtra = 0x100;
constexpr int kNumExtra = 68;

constexpr bool stands_for_itself(int byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

struct Alphabet {
    std::array<char32_t, kNumBytes> letter{};  // by byte
    std::array<unsigned char, kNumExtra> extra{};
};

constexpr Alphabet make_alphabet() {
    Alphabet alphabet;
    std::size_t extra = 0;
    for (int byte = 0; byte < kNumBytes; ++byte) {
        const auto i = usize(byte);
        if (stands_for_itself(byte)) {
            alphabet.letter[i] = static_cast<char32_t>(byte);
        } else {
            alphabet.letter[i] = kFirstExtra + static_cast<char32_t>(extra);
            alphabet.extra[extra++] = static_cast<unsigned char>(byte);
        }
    }
    return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();
static_assert(kAlphabet.letter[' '] == 0x120 && kAlphabet.letter['\n'] == 0x10A);
static_assert(kAlphabet.extra[kNumExtra - 1] == 0xAD);

std::optional<char> byte_of(char32_t letter) {
    if (letter >= kFirstExtra && letter < kFirstExtra + kNumExtra) {
        return static_cast<char>(kAlphabet.extra[letter - kFirstExtra]);
    }
    if (letter < kNumBytes && stands_for_itself(static_cast<int>(letter))) {
        return static_cast<char>(letter);
    }
    return std::nullopt;
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text, std::size_t from) {
    std::size_t at = from;
    while ((at = skip_ascii(text, at)) < text.size()) {
        const Sequence sequence = sequence_at(text, at);
        if (!sequence.complete) return at;
        at += sequence.bytes;
    }
    return text.size();
}

std::size_t incomplete_utf8_bytes(std::string_view text) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xC0) == 0x80) continue;  // within a character
        const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

std::string replace_invalid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    std::size_t at = 0;
    for (;;) {
        const std::size_t bad = find_invalid_utf8(text, at);
        out.append(text.substr(at, bad - at));
        if (bad == text.size()) return out;
        out.append(kReplacement);
        at = bad + sequence_at(text, bad).bytes;
    }
}

CodePoint code_point_at(std::string_view text, std::size_t at) {
    const std::uint8_t lead = byte_at(text, at);
    const std::size_t length = length_by_lead(lead);
    RM_CHECK(length > 0 && at + length <= text.size(), "byte {} of {} begins no code point", at,
             text.size());
    if (length == 1) return {lead, 1};
    char32_t value = lead & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i)
        value = value << 6 | (byte_at(text, at + i) & 0x3F);
    return {value, length};
}

CodePoint code_point_before(std::string_view text, std::size_t end) {
    std::size_t at = end - 1;
    while (at > 0 && (byte_at(text, at) & 0xC0) == 0x80)
        --at;
    return code_point_at(text, at);
}

void append_utf8(std::string& out, char32_t code_point) {
    const auto push = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
    const auto push_tail = [&](int shift) { push(0x80 | (code_point >> shift & 0x3F)); };
    if (code_point < 0x80) {
        push(code_point);
    } else if (code_point < 0x800) {
        push(0xC0 | code_point >> 6);
        push_tail(0);
    } else if (code_point < 0x10000) {
        push(0xE0 | code_point >> 12);
        push_tail(6);
        push_tail(0);
    } else {
        push(0xF0 | code_point >> 18);
        push_tail(12);
        push_tail(6);
        push_tail(0);
    }
}

bool is_white_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

std::string spell_bytes(std::string_view bytes) {
    std::string spelled;
    spelled.reserve(bytes.size());
    for (const char byte : bytes)
        append_utf8(spelled, kAlphabet.letter[static_cast<unsigned char>(byte)]);
    return spelled;
}

std::optional<std::string> unspell_bytes(std::string_view spelled) {
    std::string bytes;
    for (std::size_t at = 0; at < spelled.size();) {
        const CodePoint letter = code_point_at(spelled, at);
        const std::optional<char> byte = byte_of(letter.value);
        if (!byte) return std::nullopt;
        bytes.push_back(*byte);
        at += letter.bytes;
    }
    return bytes;
}

}  // namespace rm
