#include "engine/tokenizer/tokenizer.h"

#include "engine/tokenizer/tokenizer_json.h"

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

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& name) {
    if (name == ByteTokenizer::kName) return std::unique_ptr<Tokenizer>(new ByteTokenizer);
    return open_tokenizer_json(name);
}

Result<TokenId> require_end_of_document(const Tokenizer& tokenizer) {
    if (const auto end = tokenizer.end_of_document()) return *end;
    return make_error(ErrorCode::failed_precondition,
                      "tokenizer {} does not say which token ends a text: put a "
                      "tokenizer_config.json with \"eos_token\" beside it",
                      tokenizer.name());
}

Status encode_document(const Tokenizer& tokenizer, Encoder& encoder, std::string_view text,
                       std::vector<TokenId>& ids) {
    RM_TRY(const TokenId end, require_end_of_document(tokenizer));
    const auto prefix = tokenizer.prefix();
    const auto suffix = tokenizer.suffix();
    ids.insert(ids.end(), prefix.begin(), prefix.end());
    RM_RETURN_IF_ERROR(encoder.encode(text, ids));
    ids.insert(ids.end(), suffix.begin(), suffix.end());
    if (suffix.empty() || suffix.back() != end) ids.push_back(end);
    return {};
}

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
