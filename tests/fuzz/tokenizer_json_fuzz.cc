#include <cstdint>
#include <cstdlib>

#include "engine/tokenizer/tokenizer_json.h"

// The input is a tokenizer.json, a zero byte, and text. An accepted tokenizer encodes any text to
// ids that it has. Text is short: regular expressions may backtrack without a bound of ours.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rm;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t end = input.find('\0');
    const auto tokenizer =
        parse_tokenizer({.name = "fuzz", .tokenizer = std::string(input.substr(0, end))});
    if (!tokenizer) return 0;
    std::string_view text = "The ring's 12345 tokens,\n\n  \xE6\x97\xA5\xFF <|end_of_text|>!";
    if (end != std::string_view::npos) text = input.substr(end + 1, 200);
    std::vector<TokenId> ids;
    if (!(*tokenizer)->make_encoder()->encode(text, ids)) return 0;
    if (!(*tokenizer)->decode(ids, SpecialTokens::keep)) abort();
    for (const TokenId id : ids) {
        if (id < 0 || id >= (*tokenizer)->vocabulary()) abort();
    }
    return 0;
}
