#include "cli/printable.h"

namespace rm {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// Bytes of the character that begins at `at`; 0 when none does.
std::size_t length_at(std::string_view text, std::size_t at) {
    const unsigned lead = byte_at(text, at);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - at < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(text, at + i) & 0xc0) != 0x80) return 0;
    }
    return length;
}

bool is_control(std::string_view character) {
    const unsigned lead = byte_at(character, 0);
    if (character.size() == 1) return (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f;
    return lead == 0xc2 && byte_at(character, 1) < 0xa0;  // U+0080 to U+009F
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = length_at(text, at);
        const std::string_view character = text.substr(at, length);
        out += length == 0 || is_control(character) ? kReplacement : character;
        at += length == 0 ? 1 : length;
    }
    return out;
}

}  // namespace rm
