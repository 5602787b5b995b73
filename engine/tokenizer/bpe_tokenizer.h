#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/bpe.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// The contents of a tokenizer.json, read and checked.
struct BpeParts {
    Bpe bpe;
    // Sets, searched in order: first tokens that match the raw text, then tokens that match only
    // normalized text (no normalizer is supported, so the text is the same).
    std::vector<AddedTokens> added;
    PreTokenizer pre_tokenizer;
    std::vector<TokenId> prefix;
    std::vector<TokenId> suffix;
};

// Byte-level BPE with the pipeline of Hugging Face's tokenizers: added tokens are cut out, the rest
// is cut into words, each word is encoded. Bytes that are no UTF-8 become U+FFFD first.
class BpeTokenizer : public Tokenizer {
public:
    struct Names {
        std::string name;
        std::string fingerprint;
    };
    BpeTokenizer(Names names, BpeParts parts, std::optional<TokenId> end_of_document);

    const std::string& name() const override { return names_.name; }
    const std::string& fingerprint() const override { return names_.fingerprint; }
    std::int64_t vocabulary() const override { return parts_.bpe.vocabulary().num_ids(); }
    std::optional<TokenId> end_of_document() const override { return end_of_document_; }
    std::span<const TokenId> prefix() const override { return parts_.prefix; }
    std::span<const TokenId> suffix() const override { return parts_.suffix; }
    std::unique_ptr<Encoder> make_encoder() const override;
    Result<std::string> decode(std::span<const TokenId> ids, SpecialTokens special) const override;

private:
    Names names_;
    BpeParts parts_;
    std::optional<TokenId> end_of_document_;
    std::unordered_set<TokenId> special_;
};

}  // namespace rm
