#pragma once

#include <memory>
#include <vector>

#include "engine/data/text/text_source.h"
#include "engine/data/tokens/token_source.h"

namespace rm {

// Text whose tokens are its bytes (ByteTokenizer), read on demand.
class ByteSource : public TokenSource {
public:
    // Reads the size of every document.
    static Result<std::unique_ptr<ByteSource>> open(std::unique_ptr<TextSource> text,
                                                    const ReadWatch& watch = {});

    const std::string& path() const override { return text_->path(); }
    std::string describe() const override { return text_->describe() + ", byte-level tokens"; }
    std::int64_t num_documents() const override { return std::ssize(bytes_); }
    std::int64_t num_tokens(std::int64_t document) const override {
        return bytes_.at(usize(document));
    }
    std::string document_name(std::int64_t document) const override {
        return text_->document_name(document);
    }
    std::optional<TokenId> end_of_document() const override {
        return ByteTokenizer::kEndOfDocument;
    }
    std::unique_ptr<TokenReader> make_reader() const override;
    Result<std::string> content_hash(const ReadWatch& watch) const override {
        return text_->content_hash(watch);
    }

    const TextSource& text() const { return *text_; }

private:
    ByteSource(std::unique_ptr<TextSource> text, std::vector<std::int64_t> bytes)
        : text_(std::move(text)), bytes_(std::move(bytes)) {}
    std::unique_ptr<TextSource> text_;
    std::vector<std::int64_t> bytes_;  // of each document
};

// Text encoded on opening, with its tokens in memory. For small sets; `ringmaster data prepare`
// encodes larger ones once.
class EncodedSource : public TokenSource {
public:
    static constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

    // invalid_argument beyond kMostBytes of text, naming the command to use; failed_precondition
    // when the tokenizer has no token for the end of a document.
    static Result<std::unique_ptr<EncodedSource>> open(std::unique_ptr<TextSource> text,
                                                       const Tokenizer& tokenizer,
                                                       const ReadWatch& watch = {});

    const std::string& path() const override { return text_->path(); }
    std::string describe() const override;
    std::int64_t num_documents() const override { return std::ssize(begins_) - 1; }
    std::int64_t num_tokens(std::int64_t document) const override;
    std::string document_name(std::int64_t document) const override {
        return text_->document_name(document);
    }
    std::optional<TokenId> end_of_document() const override { return end_; }
    std::unique_ptr<TokenReader> make_reader() const override;
    Result<std::string> content_hash(const ReadWatch& watch) const override;

private:
    EncodedSource(std::unique_ptr<TextSource> text, const Tokenizer& tokenizer, TokenId end);
    Status encode(const Tokenizer& tokenizer, const ReadWatch& watch);

    std::unique_ptr<TextSource> text_;
    std::string tokenizer_name_;
    std::string tokenizer_fingerprint_;
    TokenId end_;
    std::vector<TokenId> tokens_;         // of all documents, without their ends
    std::vector<std::size_t> begins_{0};  // of each document, and the end of the last
};

}  // namespace rm
