#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/data/tokens/token_source.h"

namespace rm {

// Tokens in files that say where documents end, read in place: never all in memory.
class StoredTokens : public TokenSource {
public:
    const std::string& path() const final { return path_; }
    std::optional<TokenId> end_of_document() const final { return std::nullopt; }
    std::unique_ptr<TokenReader> make_reader() const final;

    // As TokenReader::read. Any thread.
    virtual Status read(std::int64_t document, std::int64_t offset,
                        std::span<TokenId> out) const = 0;

protected:
    explicit StoredTokens(std::string path) : path_(std::move(path)) {}

private:
    std::string path_;
};

// out_of_range names the first id that the vocabulary does not have; ids[0] is token `first` of
// `where`.
Status check_vocabulary(std::string_view where, std::int64_t first, std::span<const TokenId> ids,
                        std::int64_t vocabulary);

}  // namespace rm
