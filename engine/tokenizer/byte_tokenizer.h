#pragma once

#include "engine/tokenizer/tokenizer.h"

namespace rm {

// Text as its own bytes: token b is byte b, whatever it means, and one more token ends each
// document.
class ByteTokenizer : public Tokenizer {
public:
    static constexpr std::string_view kName = "bytes";
    static constexpr TokenId kEndOfDocument = 256;
    static constexpr std::int64_t kVocabulary = 257;

    const std::string& name() const override { return name_; }
    const std::string& fingerprint() const override { return name_; }
    std::int64_t vocabulary() const override { return kVocabulary; }
    std::optional<TokenId> end_of_document() const override { return kEndOfDocument; }
    std::span<const TokenId> prefix() const override { return {}; }
    std::span<const TokenId> suffix() const override { return {}; }
    std::unique_ptr<Encoder> make_encoder() const override;
    Result<std::string> decode(std::span<const TokenId> ids, SpecialTokens special) const override;

private:
    std::string name_{kName};
};

}  // namespace rm
