#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/file/file_bytes.h"
#include "engine/data/tokens/stored_tokens.h"
#include "engine/data/tokens/token_formats.h"

namespace rm {

// Existing files of tokens, read in place, never held in memory. Documents end where the files say.
class TokenFiles final : public StoredTokens {
public:
    // Megatron-LM: `prefixes` are the paths without .bin and .idx.
    static Result<std::unique_ptr<TokenFiles>> open_megatron(
        const std::string& path, const std::vector<std::string>& prefixes,
        const ReadWatch& watch = {});
    // llm.c. Each file counts as one document, since the format has no index of documents.
    static Result<std::unique_ptr<TokenFiles>> open_llmc(const std::string& path,
                                                         const std::vector<std::string>& files,
                                                         const ReadWatch& watch = {});

    std::string describe() const override;
    std::int64_t num_documents() const override { return num_documents_; }
    std::int64_t num_tokens(std::int64_t document) const override;
    std::string document_name(std::int64_t document) const override;
    Result<std::string> content_hash(const ReadWatch& watch) const override;
    Status check_ids(std::int64_t vocabulary, const ReadWatch& watch) const override;

    Status read(std::int64_t document, std::int64_t offset, std::span<TokenId> out) const override;

private:
    struct File {
        FileBytes data;
        TokenDType dtype;
        std::int64_t first_byte;           // of the tokens
        std::vector<std::int64_t> begins;  // tokens; of each document, and the end of the last
        std::int64_t first_document;
    };
    TokenFiles(std::string path, std::string_view kind)
        : StoredTokens(std::move(path)), kind_(kind) {}
    void add(File file);
    Status check_piece(const File& file, std::int64_t first, std::int64_t count,
                       std::int64_t vocabulary) const;
    Status check_not_empty() const;
    const File& file_of(std::int64_t document) const;

    std::string_view kind_;
    std::vector<File> files_;
    std::vector<FileBytes> indexes_;
    std::int64_t num_documents_ = 0;
};

}  // namespace rm
