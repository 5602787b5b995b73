#include "engine/tokenizer/byte_tokenizer.h"

namespace rm {
namespace {

class ByteEncoder : public Encoder {
public:
    Status encode(std::string_view text, std::vector<TokenId>& ids) override {
        ids.reserve(ids.size() + text.size());
        for (const char byte : text)
            ids.push_back(static_cast<unsigned char>(byte));
        return {};
    }
};

}  // namespace

std::unique_ptr<Encoder> ByteTokenizer::make_encoder() const {
    return std::make_unique<ByteEncoder>();
}

// The end of a document stands for no byte, kept or not.
Result<std::string> ByteTokenizer::decode(std::span<const TokenId> ids, SpecialTokens) const {
    std::string text;
    for (const TokenId id : ids) {
        if (id < 0 || id >= kVocabulary) {
            return make_error(ErrorCode::out_of_range, "token {}: bytes are 0 to {}", id,
                              kVocabulary - 1);
        }
        if (id != kEndOfDocument) text.push_back(static_cast<char>(id));
    }
    return text;
}

}  // namespace rm
