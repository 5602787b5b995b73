#include "engine/data/byte_source.h"

#include <algorithm>

#include "engine/tokenizer/byte_tokenizer.h"

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

std::int64_t ByteSource::num_tokens(std::int64_t document) const {
    return bytes_.at(static_cast<std::size_t>(document));
}

std::string ByteSource::document_name(std::int64_t document) const {
    return text_->document_name(document);
}

std::optional<TokenId> ByteSource::end_of_document() const {
    return ByteTokenizer::kEndOfDocument;
}

std::unique_ptr<TokenReader> ByteSource::make_reader() const {
    return std::make_unique<ByteTokenReader>(*text_);
}

}  // namespace rm
