#pragma once

#include "engine/data/text_corpus.h"
#include "engine/data/text_source.h"

namespace rm {

// A document per text file.
class TextFiles : public TextSource {
public:
    explicit TextFiles(TextCorpus corpus) : corpus_(std::move(corpus)) {}

    const std::string& path() const override { return corpus_.path(); }
    std::string describe() const override;
    std::int64_t num_documents() const override { return std::ssize(corpus_.documents()); }
    std::string document_name(std::int64_t document) const override;
    std::int64_t stored_bytes(std::int64_t document) const override;
    std::unique_ptr<TextReader> make_reader() const override;
    Result<std::string> content_hash(const ReadWatch& watch) const override {
        return rm::content_hash(corpus_, watch);
    }

private:
    TextCorpus corpus_;
};

}  // namespace rm
