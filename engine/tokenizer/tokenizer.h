#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rm {

using TokenId = std::int32_t;

// One thread's use of a Tokenizer, which it borrows: scratch memory and a cache of bounded size.
class Encoder {
public:
    virtual ~Encoder() = default;
    // Appends the tokens of `text` itself, without prefix or suffix. Fails only with
    // resource_exhausted, from a regular expression that needs too much; `ids` is then unspecified.
    virtual Status encode(std::string_view text, std::vector<TokenId>& ids) = 0;
};

enum class SpecialTokens { keep, skip };

// Text to token ids and back. Immutable, shared between threads.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    // The path it was opened from, for messages.
    virtual const std::string& name() const = 0;
    // Changes whenever anything changes that affects ids.
    virtual const std::string& fingerprint() const = 0;
    // The largest id plus one: what a model's vocabulary must hold.
    virtual std::int64_t vocabulary() const = 0;
    // The token between documents; nothing where the tokenizer's files do not say.
    virtual std::optional<TokenId> end_of_document() const = 0;
    // Tokens that its template puts around a text (Llama 3: the beginning-of-text token before).
    virtual std::span<const TokenId> prefix() const = 0;
    virtual std::span<const TokenId> suffix() const = 0;

    virtual std::unique_ptr<Encoder> make_encoder() const = 0;
    // The bytes that the tokens stand for; may end inside a character. out_of_range for an id that
    // is no token.
    virtual Result<std::string> decode(std::span<const TokenId> ids,
                                       SpecialTokens special) const = 0;
};

// `bytes`, or the path of a tokenizer.json or of a directory that holds one. Formats and what is
// refused: docs/formats/tokenizer.md.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& name);

// Appends a text as a document of its own: prefix, text, suffix and, unless the suffix is that
// already, the end of the document. failed_precondition when there is no such token.
Status encode_document(const Tokenizer& tokenizer, Encoder& encoder, std::string_view text,
                       std::vector<TokenId>& ids);
Result<TokenId> require_end_of_document(const Tokenizer& tokenizer);

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
