#pragma once

#include <memory>
#include <vector>

#include "engine/data/text_source.h"
#include "engine/data/token_source.h"

namespace rm {

// Text whose tokens are its bytes (ByteTokenizer), read from the text when they are asked for.
class ByteSource : public TokenSource {
public:
    // Asks the text for the size of every document.
    static Result<std::unique_ptr<ByteSource>> open(std::unique_ptr<TextSource> text,
                                                    const ReadWatch& watch = {});

    const std::string& path() const override { return text_->path(); }
    std::string describe() const override { return text_->describe() + ", byte-level tokens"; }
    std::int64_t num_documents() const override { return std::ssize(bytes_); }
    std::int64_t num_tokens(std::int64_t document) const override;
    std::string document_name(std::int64_t document) const override;
    std::optional<TokenId> end_of_document() const override;
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

}  // namespace rm
