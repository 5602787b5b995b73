#include "engine/data/tokens/text_tokens.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "engine/data/file/hash.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {
namespace {

class ByteTokenReader : public TokenReader {
public:
    explicit ByteTokenReader(const TextSource& text) : reader_(text.make_reader()) {}

    Status read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) override {
        bytes_.resize(out.size());
        RM_RETURN_IF_ERROR(reader_->read(document, offset, bytes_));
        std::copy(bytes_.begin(), bytes_.end(), out.begin());
        return {};
    }

private:
    std::unique_ptr<TextReader> reader_;
    std::vector<std::uint8_t> bytes_;
};

class MemoryReader : public TokenReader {
public:
    MemoryReader(std::span<const TokenId> tokens, std::span<const std::size_t> begins)
        : tokens_(tokens), begins_(begins) {}

    Status read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) override {
        const std::size_t begin = begins_[usize(document)] + usize(offset);
        const auto part = tokens_.subspan(begin, out.size());
        std::copy(part.begin(), part.end(), out.begin());
        return {};
    }

private:
    std::span<const TokenId> tokens_;
    std::span<const std::size_t> begins_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> ByteSource::open(std::unique_ptr<TextSource> text,
                                                     const ReadWatch& watch) {
    std::vector<std::int64_t> bytes;
    const auto reader = text->make_reader();
    for (std::int64_t i = 0; i < text->num_documents(); ++i) {
        RM_RETURN_IF_ERROR(watch.pass(text->stored_bytes(i)));
        RM_TRY(const std::int64_t count, reader->num_bytes(i));
        bytes.push_back(count);
    }
    return std::unique_ptr<ByteSource>(new ByteSource(std::move(text), std::move(bytes)));
}

std::unique_ptr<TokenReader> ByteSource::make_reader() const {
    return std::make_unique<ByteTokenReader>(*text_);
}

EncodedSource::EncodedSource(std::unique_ptr<TextSource> text, const Tokenizer& tokenizer,
                             TokenId end)
    : text_(std::move(text)),
      tokenizer_name_(tokenizer.name()),
      tokenizer_fingerprint_(tokenizer.fingerprint()),
      end_(end) {}

Result<std::unique_ptr<EncodedSource>> EncodedSource::open(std::unique_ptr<TextSource> text,
                                                           const Tokenizer& tokenizer,
                                                           const ReadWatch& watch) {
    if (text->total_stored_bytes() > kMostBytes) {
        return invalid_argument(
            "{} has {} of text; at most {} are encoded in memory when a job starts. Encode it once "
            "with `ringmaster data prepare {} --tokenizer {} --output PREFIX` and train on PREFIX",
            text->path(), Bytes{text->total_stored_bytes()}, Bytes{kMostBytes}, text->path(),
            tokenizer.name());
    }
    RM_TRY(const TokenId end, require_end_of_document(tokenizer));
    std::unique_ptr<EncodedSource> source(new EncodedSource(std::move(text), tokenizer, end));
    RM_RETURN_IF_ERROR(source->encode(tokenizer, watch));
    return source;
}

Status EncodedSource::encode(const Tokenizer& tokenizer, const ReadWatch& watch) {
    const auto reader = text_->make_reader();
    const auto encoder = tokenizer.make_encoder();
    for (std::int64_t i = 0; i < text_->num_documents(); ++i) {
        RM_RETURN_IF_ERROR(watch.pass(text_->stored_bytes(i)));
        RM_TRY(const std::string text, reader->load(i));
        RM_RETURN_IF_ERROR(encode_document(tokenizer, *encoder, text, tokens_));
        tokens_.pop_back();  // the end of the document
        begins_.push_back(tokens_.size());
    }
    tokens_.shrink_to_fit();
    return {};
}

std::string EncodedSource::describe() const {
    return format("{}, encoded by {} to {} tokens in memory", text_->describe(), tokenizer_name_,
                  tokens_.size());
}

std::int64_t EncodedSource::num_tokens(std::int64_t document) const {
    const auto i = usize(document);
    return static_cast<std::int64_t>(begins_.at(i + 1) - begins_.at(i));
}

std::unique_ptr<TokenReader> EncodedSource::make_reader() const {
    return std::make_unique<MemoryReader>(tokens_, begins_);
}

Result<std::string> EncodedSource::content_hash(const ReadWatch& watch) const {
    RM_TRY(const std::string text, text_->content_hash(watch));
    return combined_hash(std::array{text, tokenizer_fingerprint_});
}

}  // namespace rm
