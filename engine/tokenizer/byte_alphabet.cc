#include "engine/tokenizer/byte_alphabet.h"

#include <array>

#include "engine/tokenizer/utf8.h"

namespace rm {
namespace {

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
        const auto i = static_cast<std::size_t>(byte);
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
